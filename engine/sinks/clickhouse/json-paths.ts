import { isObject } from "./reading.ts";

/**
 * A path that has two values within an object, or within one of the objects in its arrays: `{"a.b": 1, "a": {"b": 2}}`.
 * Only a key with a dot can make one, because JSON.parse leaves one value for each key. Null is no value.
 */
export function repeatedPath(object: Record<string, unknown>): string | undefined {
  const [objects, isDotted] = namespaces(object);
  return isDotted ? objects.map(repeatedIn).find((path) => path !== undefined) : undefined;
}

/** The object and those in arrays, whose paths begin anew; and whether a key has a dot. Bounded in depth by the writer. */
function namespaces(root: Record<string, unknown>): [Record<string, unknown>[], boolean] {
  const tops = [root];
  let isDotted = false;
  const visit = (value: unknown, isInArray: boolean): void => {
    if (Array.isArray(value)) for (const inner of value) visit(inner, true);
    if (!isObject(value)) return;
    if (isInArray) tops.push(value);
    for (const key of Object.keys(value)) {
      isDotted ||= key.includes(".");
      visit(value[key], false);
    }
  };
  visit(root, false);
  return [tops, isDotted];
}

function repeatedIn(object: Record<string, unknown>): string | undefined {
  const seen = new Set<string>();
  const visit = (inner: Record<string, unknown>, prefix: string): string | undefined => {
    for (const key of Object.keys(inner)) {
      const [path, value] = [prefix + key, inner[key]];
      if (value === null || value === undefined) continue;
      if (!isObject(value) && seen.has(path)) return path;
      const repeated = isObject(value) ? visit(value, `${path}.`) : undefined;
      if (repeated !== undefined) return repeated;
      if (!isObject(value)) seen.add(path);
    }
    return undefined;
  };
  return visit(object, "");
}
