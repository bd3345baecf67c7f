/**
 * A number with a kind of its own. A month or a weekday has a name, which is its text: January is 1, Sunday is 0. It
 * has no arithmetic: write `int(…)` around it. A byte of a text (`uint`) is computed with as the integer that it is.
 * Where a number is wanted, and beside a number, each is its value.
 */
export class Named {
  readonly kind: "month" | "weekday" | "uint";
  readonly value: bigint;
  readonly name: string;

  constructor(kind: Named["kind"], value: number, name: string) {
    this.kind = kind;
    this.value = BigInt(value);
    this.name = name;
  }
}

/** One object for each byte, so that equal bytes are the same key of a `Map`. */
const bytes: readonly Named[] = Array.from({ length: 256 }, (_, value) => new Named("uint", value, String(value)));

/** A byte of a text, 0 to 255. */
export function byte(value: number): Named {
  return bytes[value] as Named;
}

export function isByte(value: unknown): value is Named {
  return value instanceof Named && value.kind === "uint";
}

/** The integer that a byte is; any other value as it is. */
export function unnamedByte(value: unknown): unknown {
  return isByte(value) ? value.value : value;
}
