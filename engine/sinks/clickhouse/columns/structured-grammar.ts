import type { ColumnType, ColumnTypeProblem, JsonType } from "./column-type.ts";

/** Reads the type of an element. */
type Parse = (text: string) => ColumnType | ColumnTypeProblem;

/** The elements of `Tuple(T1, T2)` or `Tuple(a T1, b T2)`: either all have a name, or none. */
export function tuple(list: readonly string[], parse: Parse): ColumnType | ColumnTypeProblem {
  const elements: { name: string | undefined; type: ColumnType }[] = [];
  for (const text of list) {
    const { name, type } = element(text);
    const parsed = parse(type);
    if ("problem" in parsed) return { problem: `holds ${type === "" ? "nothing" : type}, which ${parsed.problem}` };
    elements.push({ name, type: parsed });
  }
  const types = elements.map(({ type }) => type);
  const names = elements.map(({ name }) => name).filter((name) => name !== undefined);
  if (names.length === 0) return { kind: "Tuple", elements: types };
  if (names.length < types.length) return { problem: "needs a name for each element, or for none" };
  if (new Set(names).size < names.length) return { problem: "needs names that differ" };
  return { kind: "Tuple", elements: types, names };
}

/** A name is followed by a blank and a type; anything else is read as a type. */
function element(text: string): { name: string | undefined; type: string } {
  const found = leadingName(text);
  const type = found === undefined ? undefined : /^\s+([A-Za-z][\s\S]*)$/.exec(found.rest)?.[1];
  return type === undefined ? { name: undefined, type: text } : { name: found?.name, type };
}

/** The largest values that ClickHouse accepts. */
const limits: Readonly<Record<string, number>> = { max_dynamic_paths: 10_000, max_dynamic_types: 254 };

const usage = "needs parameters such as max_dynamic_paths = 100, a.b UInt32, SKIP c or SKIP REGEXP 'd.*'";
const regexp = /^SKIP\s+REGEXP\s+('(?:[^'\\]|\\[\s\S]|'')*')$/i;

/** The parameters in `JSON(...)`: limits, typed paths, and paths to skip. */
export function json(list: readonly string[], parse: Parse): ColumnType | ColumnTypeProblem {
  const type: JsonType = { kind: "JSON", limits: new Map(), paths: new Map(), skips: [] };
  for (const text of list.filter((part) => part !== "")) {
    const problem = limit(text, type) ?? skip(text, type) ?? typedPath(text, type, parse);
    if (typeof problem === "string") return { problem };
  }
  return type;
}

/** Each reader returns `false` if it has read the text, a problem, or undefined if the text is not of its kind. */
type Outcome = false | string | undefined;

function limit(text: string, { limits: found }: JsonType): Outcome {
  const [, name = "", digits] = /^(max_dynamic_\w+)\s*=\s*(\d{1,9})$/.exec(text) ?? [];
  const most = Object.hasOwn(limits, name) ? limits[name] : undefined;
  if (most === undefined) return undefined;
  if (found.has(name) || Number(digits) > most) return `needs ${name} once, from 0 to ${most}`;
  found.set(name, Number(digits));
  return false;
}

function skip(text: string, { skips }: JsonType): Outcome {
  const [, pattern] = regexp.exec(text) ?? [];
  if (pattern !== undefined) {
    skips.push({ pattern });
    return false;
  }
  if (!/^SKIP\s/i.test(text)) return undefined;
  const path = leadingPath(text.replace(/^SKIP\s+/i, ""));
  if (path?.rest !== "") return usage;
  skips.push({ path: path.name });
  return false;
}

function typedPath(text: string, { paths }: JsonType, parse: Parse): Outcome {
  const path = leadingPath(text);
  const inner = path === undefined ? undefined : /^\s+([A-Za-z][\s\S]*)$/.exec(path.rest)?.[1];
  if (path === undefined || inner === undefined) {
    return usage;
  }
  const parsed = parse(inner);
  if ("problem" in parsed) return `holds ${inner}, which ${parsed.problem}`;
  if (paths.has(path.name)) return `needs each path once; it has ${path.name} twice`;
  paths.set(path.name, parsed);
  return false;
}

/** A name as ClickHouse spells it: plain, or in back-quotes or double quotes. */
const spelling = /^(?:[A-Za-z_]\w*|`(?:[^`\\]|\\[\s\S]|``)+`|"(?:[^"\\]|\\[\s\S]|"")+")/;

/** A name at the start of a text, and the rest of the text; undefined where there is none. */
function leadingName(text: string): { name: string; rest: string } | undefined {
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
function leadingPath(text: string): { name: string; rest: string } | undefined {
  const first = leadingName(text);
  if (first === undefined || !first.rest.startsWith(".")) return first;
  const further = leadingPath(first.rest.slice(1));
  return further && { name: `${first.name}.${further.name}`, rest: further.rest };
}
