/**
 * The text by which the value of a dedup key is one with its equals; undefined for what is no key: nothing, null, an
 * empty string, an array, an object, and numbers beyond 64-bit floats, all of which JSON.parse reads as one.
 *
 * Types are not told apart: the string `1` and the number 1 are one key. Numbers that are equal have one text: whole ones
 * all their digits, so 1, 1.0 and 1e0 are one key, 1e21 is a one and twenty-one zeros, and -0 is 0; others the shortest
 * text that reads as the same 64-bit float, such as `0.1` and `1e-7`. What only a float holds (a fraction, an exponent,
 * more than 80 digits) was rounded to one when it was parsed.
 */
export function dedupKeyText(value: unknown): string | undefined {
  if (typeof value === "string") return value === "" ? undefined : value;
  if (typeof value === "number") return numberText(value);
  return typeof value === "bigint" || typeof value === "boolean" ? String(value) : undefined;
}

/** The error of an event whose dedup key `name` has a value without a key text: a dead letter, by the component `ingestor`. */
export function badDedupKey(name: string, value: unknown): string {
  const missing = value === undefined || value === null ? " is missing" : "";
  const found = `expected a string with text, a number or a bool, found ${kindOf(value)}`;
  return `failed to validate data: dedup key ${name}${missing}: ${found}`;
}

function numberText(value: number): string | undefined {
  if (!Number.isFinite(value)) return undefined;
  // Beyond the safe range String fills up with zeros, which are not the digits of a bigint that equals the number.
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? String(BigInt(value)) : String(value);
}

function kindOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (value === "") return "an empty string";
  if (Array.isArray(value)) return "an array";
  return typeof value === "number" ? "a number beyond the range of 64-bit floats" : "an object";
}
