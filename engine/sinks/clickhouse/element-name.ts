/** A name as ClickHouse spells it: plain, or in back-quotes or double quotes. */
const spelling = /^(?:[A-Za-z_]\w*|`(?:[^`\\]|\\[\s\S]|``)+`|"(?:[^"\\]|\\[\s\S]|"")+")/;

/** A name at the start of a text, and what follows it; undefined where none stands there. */
export function leadingName(text: string): { name: string; rest: string } | undefined {
  const [token] = spelling.exec(text) ?? [];
  if (token === undefined) return undefined;
  const rest = text.slice(token.length);
  const quote = token[0] ?? "";
  if (quote !== "`" && quote !== '"') return { name: token, rest };
  const inner = token.slice(1, -1).replaceAll(quote + quote, `\\${quote}`);
  return /\\[^\\`"']/.test(inner.replaceAll("\\\\", ""))
    ? undefined
    : { name: inner.replace(/\\([\s\S])/g, "$1"), rest };
}

/** A path at the start of a text: names with dots between them, `a.b` or `a.b` in quotes. */
export function leadingPath(text: string): { name: string; rest: string } | undefined {
  const first = leadingName(text);
  if (first === undefined || !first.rest.startsWith(".")) return first;
  const further = leadingPath(first.rest.slice(1));
  return further && { name: `${first.name}.${further.name}`, rest: further.rest };
}

/** Words that mean something else where a name could stand. */
const words = /^(?:skip|max_dynamic_\w+|null|not|all|any|distinct|table|select|from|cast|default|as|in)$/i;

/** The name as it stands in a statement: bare only where nothing can be misread. */
export function nameText(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) && !words.test(name) ? name : `\`${name.replace(/[\\`]/g, String.raw`\$&`)}\``;
}
