import { parseExactly } from "../../../event/exact-json.ts";
import type { Converter } from "./converter.ts";
import { isObject } from "../../../event/objects.ts";
import { deepest, type Read, readers, shortened } from "./values.ts";
import { quoted } from "./writer.ts";

/** Thrown for a value within the object that cannot be written. Caught in this file. */
class Unfit extends Error {}

/** The range of whole numbers in an untyped path: that of Int64 and UInt64. */
const [lowest, highest] = [-(2n ** 63n), 2n ** 64n - 1n];

/** From this number on JSON.stringify writes an exponent itself. */
const exponentFrom = 1e21;

/**
 * Writes objects, and strings with the JSON of an object, for a JSON column: ClickHouse accepts nothing else at its
 * top. Refuses values for which ClickHouse would refuse the whole batch: whole numbers out of range, two values for one
 * path, malformed text. Also refuses values in arrays that ClickHouse would silently change. `typed` has the converters
 * of typed paths.
 */
export function jsonConverter(typed: ReadonlyMap<string, Converter>, empty: string): Converter {
  const write = (value: unknown): string => {
    const object = typeof value === "string" ? parsed(value) : value;
    if (!isObject(object)) throw new Unfit(`expected a JSON object, got ${shortened(value)}`);
    const text = new ObjectWriter(typed).object(object, "", 0);
    const repeated = repeatedPath(object);
    if (repeated !== undefined) {
      throw new Unfit(`expected one value for each path, got two for ${shortened(repeated)}`);
    }
    return text;
  };
  return {
    convert: (value) => {
      if (value === null || value === undefined) return empty;
      const text = attempt(() => write(value));
      return text instanceof Unfit ? undefined : text;
    },
    explain: (value) => {
      const text = attempt(() => write(value));
      return text instanceof Unfit ? text.message : `expected a JSON object, got ${shortened(value)}`;
    },
  };
}

/**
 * Writes scalars and arrays of them for a Dynamic column, whose types ClickHouse infers. An object would become a tuple in
 * which a missing key is a 0. ClickHouse reads no null for it: a row goes without the column.
 */
export function dynamicConverter(read: Read): Converter {
  const write = (value: unknown): string => {
    const typed = value === null || value === undefined ? undefined : read(value);
    // A float that JSON cannot write would be stored as a text.
    const isMisread = typeof typed === "string" && typeof value === "string" && read === readers.float;
    if (typed === undefined || isMisread || holdsObject(typed, 0))
      throw new Unfit(`${expectedScalar}, got ${shortened(value)}`);
    const text = attempt(() => (Array.isArray(typed) ? array(typed, "", 1, new JsonElements()) : scalar(typed, "")));
    if (text instanceof Unfit) throw new Unfit(text.message.replace(/^key "": /, ""));
    return text;
  };
  return converterBy(write);
}

const expectedScalar = "expected text, a number, a bool or an array of them (a JSON column takes objects)";

function holdsObject(value: unknown, depth: number): boolean {
  if (Array.isArray(value)) return depth < deepest && value.some((inner) => holdsObject(inner, depth + 1));
  return isObject(value);
}

/** The converter of what throws Unfit. */
function converterBy(write: (value: unknown) => string): Converter {
  return {
    convert: (value) => {
      const text = attempt(() => write(value));
      return text instanceof Unfit ? undefined : text;
    },
    explain: (value) => {
      const text = attempt(() => write(value));
      return text instanceof Unfit ? text.message : `expected another value, got ${shortened(value)}`;
    },
  };
}

function attempt(write: () => string): string | Unfit {
  try {
    return write();
  } catch (error) {
    if (error instanceof Unfit) return error;
    throw error;
  }
}

function parsed(text: string): unknown {
  try {
    return parseExactly(text);
  } catch {
    return undefined;
  }
}

class ObjectWriter {
  readonly #typed: ReadonlyMap<string, Converter>;

  constructor(typed: ReadonlyMap<string, Converter>) {
    this.#typed = typed;
  }

  /** `prefix` is the path of the object with a dot after it, used only if there are typed paths. */
  object(object: Record<string, unknown>, prefix: string, depth: number): string {
    mustBeFlat(depth, prefix);
    let text = "";
    for (const key of Object.keys(object)) {
      const name = quoted(key);
      if (name === undefined) throw new Unfit(`key ${shortened(key)}: expected text of whole Unicode characters`);
      const path = this.#typed.size === 0 ? "" : prefix + key;
      const value = this.#value(object[key], key, path, depth);
      if (value !== undefined) text += `${text === "" ? "" : ","}${name}:${value}`;
    }
    return `{${text}}`;
  }

  /** Nothing for a null in a typed path: ClickHouse then stores the default of that type. */
  #value(value: unknown, key: string, path: string, depth: number): string | undefined {
    const typed = this.#typed.size === 0 ? undefined : this.#typed.get(path);
    if (typed !== undefined) {
      const text = typed.convert(value);
      if (text === undefined) throw new Unfit(`path ${shortened(path)}: ${typed.explain(value)}`);
      return value === null ? undefined : text;
    }
    if (Array.isArray(value)) return array(value, key, depth + 1, new JsonElements());
    return isObject(value) ? this.object(value, path === "" ? "" : `${path}.`, depth + 1) : scalar(value, key);
  }
}

/** Objects in an array have paths of their own: the types of the column do not reach them. */
const untyped = new ObjectWriter(new Map());

function array(values: readonly unknown[], key: string, depth: number, elements: JsonElements): string {
  mustBeFlat(depth, key);
  const texts = values.map((value) => {
    const misfit = elements.add(value, depth);
    if (misfit !== undefined) throw new Unfit(`key ${shortened(key)}: expected ${misfit}`);
    if (Array.isArray(value)) return array(value, key, depth + 1, elements);
    if (isObject(value)) return untyped.object(value, "", depth + 1);
    return scalar(value, key);
  });
  return `[${texts.join(",")}]`;
}

function scalar(value: unknown, key: string): string {
  const text = scalarText(value);
  if (text !== undefined) return text;
  throw new Unfit(`key ${shortened(key)}: expected ${expectation(value)}, got ${shortened(value)}`);
}

function scalarText(value: unknown): string | undefined {
  switch (typeof value) {
    case "string":
      return quoted(value);
    case "bigint":
      return value >= lowest && value <= highest ? value.toString() : undefined;
    case "number":
      return Number.isFinite(value) ? numberText(value) : undefined;
    default:
      return JSON.stringify(value ?? null);
  }
}

/** Floats that would be printed as whole numbers out of range get an exponent. */
function numberText(value: number): string {
  const isWide = !Number.isSafeInteger(value) && Number.isInteger(value) && Math.abs(value) < exponentFrom;
  return isWide ? value.toExponential() : JSON.stringify(value);
}

function expectation(value: unknown): string {
  if (typeof value === "bigint") return `a whole number from ${lowest} to ${highest} (wider ones as a string)`;
  return typeof value === "number" ? "a finite number" : "text of whole Unicode characters";
}

function mustBeFlat(depth: number, at: string): void {
  if (depth >= deepest) throw new Unfit(`expected at most ${deepest} levels of nesting, got more at ${shortened(at)}`);
}

/**
 * The elements of an array and of the arrays in it, for which ClickHouse infers one type. With a fraction among them it
 * rounds whole numbers beyond 2^53; with an array among them it makes a null an empty array or refuses it.
 */
class JsonElements {
  #wide: bigint | undefined;
  #fraction: number | undefined;
  readonly #nulls = new Set<number>();
  readonly #arrays = new Set<number>();

  /**
   * Notes an element, `level` arrays deep. Returns a text that completes "expected ..." if it conflicts with the
   * others.
   */
  add(value: unknown, level: number): string | undefined {
    if (typeof value === "bigint") this.#wide ??= value;
    else if (typeof value === "number" && !Number.isSafeInteger(value)) this.#fraction ??= value;
    else if (value === null) this.#nulls.add(level);
    else if (Array.isArray(value)) this.#arrays.add(level);
    if (this.#nulls.has(level) && this.#arrays.has(level)) return "an array without null beside arrays, got both";
    if (this.#wide === undefined || this.#fraction === undefined) return undefined;
    return `an array without fractions beside whole numbers beyond 2^53, got ${this.#wide} and ${shortened(this.#fraction)}`;
  }
}

/**
 * A path with two values in an object, or in one of the objects in its arrays: `{"a.b": 1, "a": {"b": 2}}`. Only a key
 * with a dot can cause this, because JSON.parse leaves one value for each key. Null does not count as a value.
 */
function repeatedPath(object: Record<string, unknown>): string | undefined {
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
