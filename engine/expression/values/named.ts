/**
 * A month or a weekday: a number with a name. Its text is the name; where a number is wanted, it is the number: January
 * is 1, Sunday is 0. It equals a number of its value, and has no arithmetic: write `int(…)` around it.
 */
export class Named {
  readonly kind: "month" | "weekday";
  readonly value: bigint;
  readonly name: string;

  constructor(kind: Named["kind"], value: number, name: string) {
    this.kind = kind;
    this.value = BigInt(value);
    this.name = name;
  }
}
