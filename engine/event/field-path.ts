import { isObject } from "./objects.ts";

/**
 * The two functions that are made from text. V8 optimises for the shape of a record per function, and closures of one
 * function share that; so each key gets a reader of its own, ten times as fast as a shared one. The only variable part
 * of the text is a name, as a literal that `JSON.stringify` wrote.
 */

type Reader = (record: Record<string, unknown>) => unknown;
type Maker = (values: readonly unknown[]) => Record<string, unknown>;

/** Reads one key that no object inherits; undefined where the record lacks it. */
export function keyReader(name: string): Reader {
  return generated("record", `return record[${JSON.stringify(name)}];`) as Reader;
}

/** Makes a record of `names` in their order; the value of a name is at its index in `indexes`. */
export function recordMaker(names: readonly string[], indexes: readonly number[]): Maker {
  const members = names.map((name, index) => {
    const key = JSON.stringify(name);
    // In brackets it is a key like any other; without, it would be the prototype.
    return `${name === "__proto__" ? `[${key}]` : key}: values[${indexes[index] ?? 0}]`;
  });
  return generated("values", `return { ${members.join(", ")} };`) as Maker;
}

function generated(parameter: string, body: string): unknown {
  // oxlint-disable-next-line no-new-func, typescript/no-implied-eval -- see above: user text gets here only as a literal
  return new Function(parameter, `"use strict"; ${body}`);
}

export type ReadField = (event: Record<string, unknown>) => unknown;

/**
 * Finds a mapped field in an event: the whole name as one key first; if that gave nothing or null, the part before the
 * first dot as an object and the rest within it, by the same rule. So `a.b`, `a` -> `b` and `attributes` ->
 * `service.name` are all found. Only keys of the event's own are seen, and no
 * character of a name has a meaning besides the dot.
 */
export function fieldReader(name: string): ReadField {
  if (!name.includes(".") && !(name in Object.prototype)) return keyReader(name);
  return (event) => walk(event, name);
}

/** The keys of an event itself that `fieldReader` looks at for a name. */
export function keysRead(name: string): string[] {
  const dot = name.indexOf(".");
  return dot === -1 ? [name] : [name, name.slice(0, dot)];
}

function walk(object: Record<string, unknown>, name: string): unknown {
  const whole = Object.hasOwn(object, name) ? object[name] : undefined;
  if (whole !== undefined && whole !== null) return whole;
  const dot = name.indexOf(".");
  if (dot === -1) return whole;
  const head = name.slice(0, dot);
  const inner = Object.hasOwn(object, head) ? object[head] : undefined;
  return isObject(inner) ? walk(inner, name.slice(dot + 1)) : whole;
}
