import { keyReader } from "./generated.ts";

export type ReadField = (event: Record<string, unknown>) => unknown;

/**
 * Finds a mapped field in an event (the specification, type mapping, section 8): the whole name as one key first; if
 * that gave nothing or null, the part before the first dot as an object and the rest within it, by the same rule. So
 * `a.b`, `a` -> `b` and `attributes` -> `service.name` are all found. Only keys of the event's own are seen, and no
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

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
