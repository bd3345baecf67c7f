/** Bytes that numbers and words take, about. */
const usual = 6;

/**
 * About how many bytes a value takes as JSON, without writing it: texts count their characters, which are more bytes
 * where they are beyond ASCII or escaped.
 */
export function aboutSize(value: unknown): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null) return usual;
  if (Array.isArray(value)) return value.reduce<number>((size, item) => size + aboutSize(item) + 1, 2);
  const object = value as Record<string, unknown>;
  let size = 2;
  for (const key in object) size += key.length + 4 + aboutSize(object[key]);
  return size;
}
