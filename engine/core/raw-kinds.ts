/** Kinds of JSON values, as errors name them. */
export type JsonKind = "string" | "number" | "bool" | "array" | "object" | "null";

/** A bit for each kind. */
export const kindBits: Readonly<Record<JsonKind, number>> = {
  string: 1,
  number: 2,
  bool: 4,
  array: 8,
  object: 16,
  null: 32,
};

export const anyKind = 0xff;

/** Of each byte: the bit of the kind whose values begin with it; 0 where none does. */
export const kindsBeginning: Uint8Array = beginnings({
  string: '"',
  number: "-0123456789",
  bool: "tf",
  array: "[",
  object: "{",
  null: "n",
});

function beginnings(of: Readonly<Record<JsonKind, string>>): Uint8Array {
  const bits = new Uint8Array(256);
  for (const [kind, letters] of Object.entries(of)) {
    for (const byte of Buffer.from(letters)) bits[byte] = kindBits[kind as JsonKind];
  }
  return bits;
}
