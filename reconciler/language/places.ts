import { isObject, type Path } from "../../schemas/index.ts";
import { entryOf, type Node } from "./node.ts";
import type { Place } from "./problem.ts";
import type { SourceText } from "./source-text.ts";

/**
 * Where the values of a document are written, as plain data that takes little more memory than the text: a thread reads
 * files, and the process asks where a field is long after the parsed document is gone.
 */
export interface Places {
  /** Line and column of each value, then of the key that holds it, in the order in which `keysOf` visits the values. */
  numbers: Int32Array<ArrayBuffer>;
  /** Fields that are written, and that the value leaves out because they hold nothing. */
  leftOut: { path: Path; line: number; column: number }[];
  /** The names of the variables in a value, by its number. */
  variables: [number, readonly string[]][];
}

/** The places of all values of a document whose tidied value is `value`. */
export function placesOf(source: SourceText, root: Node, value: unknown): Places {
  const numbers: number[] = [];
  const found: Omit<Places, "numbers"> = { leftOut: [], variables: [] };
  const note = (at: number): void => {
    const { line, column } = source.place(at);
    numbers.push(line, column);
  };
  const visit = (node: Node, of: unknown, holder: number, path: Path): void => {
    if (node.variables !== undefined) found.variables.push([numbers.length / 4, node.variables]);
    note(node.at < 0 ? holder : node.at);
    note(holder);
    if (node.kind === "map") found.leftOut.push(...placesLeftOut(source, node, of, path));
    for (const key of keysOf(of)) {
      const step = childOf(node, key);
      // A value that is not written as such is where its holder is.
      const { at, value: child } = step ?? { at: -1, value: node };
      visit(child, (of as Record<string | number, unknown>)[key], at < 0 ? holder : at, [...path, key]);
    }
  };
  visit(root, value, root.at, []);
  return { numbers: Int32Array.from(numbers), ...found };
}

function placesLeftOut(
  source: SourceText,
  { entries }: Extract<Node, { kind: "map" }>,
  of: unknown,
  path: Path,
): Places["leftOut"] {
  return entries
    .filter(({ key }) => isObject(of) && !Object.hasOwn(of, key))
    .map(({ key, at, value }) => {
      const { line, column } = source.place(value.at < 0 ? at : value.at);
      return { path: [...path, key], line, column };
    });
}

function childOf(node: Node, key: string | number): { at: number; value: Node } | undefined {
  if (node.kind === "map") return entryOf(node, String(key));
  const item = node.kind === "list" && typeof key === "number" ? node.items[key] : undefined;
  return item && { at: item.at, value: item };
}

/** The place of the value at `path` of a document; of the key that should hold it if the value is missing or empty. */
export function placeAt({ numbers, leftOut }: Places, value: unknown, path: Path): Pick<Place, "line" | "column"> {
  const { number, isMissing } = numberOf(value, path);
  const other = isMissing ? leftOut.find((one) => isSame(one.path, path)) : undefined;
  if (other !== undefined) return { line: other.line, column: other.column };
  const at = 4 * number + (isMissing ? 2 : 0);
  return { line: numbers[at] ?? 1, column: numbers[at + 1] ?? 1 };
}

/** The names of the variables from which the value at `path` is made, each once. */
export function variablesAt({ variables }: Places, value: unknown, path: Path): string[] {
  const { number, isMissing, found } = numberOf(value, path);
  if (isMissing) return [];
  const names = new Set<string>();
  const end = number + sizeOf(found);
  for (let index = firstFrom(variables, number); (variables[index]?.[0] ?? end) < end; index += 1) {
    for (const name of variables[index]?.[1] ?? []) names.add(name);
  }
  return [...names];
}

/** The index of the first entry whose number is at least `number`; the entries are in the order of their numbers. */
function firstFrom(variables: Places["variables"], number: number): number {
  let [low, high] = [0, variables.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((variables[middle]?.[0] ?? 0) < number) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The number of the value at `path` in a walk; that of the nearest value above it, if it is missing. */
function numberOf(value: unknown, path: Path): { number: number; isMissing: boolean; found: unknown } {
  let number = 0;
  let found = value;
  for (const segment of path) {
    const offset = collectionOf(found)?.offsets.get(segment);
    if (offset === undefined) return { number, isMissing: true, found };
    number += offset;
    found = (found as Record<string | number, unknown>)[segment];
  }
  return { number, isMissing: false, found };
}

interface Collection {
  /** The number of values in it, itself included. */
  size: number;
  /** How many values are visited before each of its own ones, itself included. */
  offsets: ReadonlyMap<string | number, number>;
}

/** Of values that were asked for: a plan may ask for each of ten thousand fields. */
const collections = new WeakMap<object, Collection>();

function collectionOf(value: unknown): Collection | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const known = collections.get(value);
  if (known !== undefined) return known;
  const offsets = new Map<string | number, number>();
  let size = 1;
  for (const key of keysOf(value)) {
    offsets.set(key, size);
    size += sizeOf((value as Record<string | number, unknown>)[key]);
  }
  const found = { size, offsets };
  collections.set(value, found);
  return found;
}

function sizeOf(value: unknown): number {
  return collectionOf(value)?.size ?? 1;
}

function keysOf(value: unknown): (string | number)[] {
  if (Array.isArray(value)) return [...value.keys()];
  return isObject(value) ? Object.keys(value) : [];
}

function isSame(a: Path, b: Path): boolean {
  return a.length === b.length && a.every((segment, index) => segment === b[index]);
}
