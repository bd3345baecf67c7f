import type { ColumnType, ColumnTypeProblem } from "./column-type.ts";
import { leadingName } from "./element-name.ts";

type Parse = (text: string) => ColumnType | ColumnTypeProblem;

/** The elements of `Tuple(T1, T2)` or `Tuple(a T1, b T2)`: all of them have a name, or none has. */
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

/** A name is followed by a blank and a type; whatever else stands there is read as a type. */
function element(text: string): { name: string | undefined; type: string } {
  const found = leadingName(text);
  const type = found === undefined ? undefined : /^\s+([A-Za-z][\s\S]*)$/.exec(found.rest)?.[1];
  return type === undefined ? { name: undefined, type: text } : { name: found?.name, type };
}
