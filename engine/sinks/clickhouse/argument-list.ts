const quotes: ReadonlySet<string> = new Set(["'", "`", '"']);

/** Splits at the commas that lie in no bracket and no quotes, and trims the parts. */
export function splitArguments(inner: string): string[] {
  const parts: string[] = [];
  let [depth, from, quote] = [0, 0, ""];
  for (let at = 0; at < inner.length; at++) {
    const char = inner[at] ?? "";
    if (quote !== "") {
      if (char === "\\") at++;
      else if (char === quote) quote = "";
    } else if (quotes.has(char)) quote = char;
    else if (char === "(") depth++;
    else if (char === ")") depth--;
    else if (char === "," && depth === 0) {
      parts.push(inner.slice(from, at).trim());
      from = at + 1;
    }
  }
  parts.push(inner.slice(from).trim());
  return parts;
}
