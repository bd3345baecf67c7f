/** Splits at the commas that lie in no bracket and no quotes, and trims the parts. */
export function splitArguments(inner: string): string[] {
  const parts: string[] = [];
  let [depth, from, quoted] = [0, 0, false];
  for (let at = 0; at < inner.length; at++) {
    const char = inner[at];
    if (quoted && char === "\\") at++;
    else if (char === "'") quoted = !quoted;
    else if (quoted) continue;
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
