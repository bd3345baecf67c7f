import { shortened } from "./shortened.ts";

/**
 * What ClickHouse finds one type for: the elements of an array and of the arrays in it. Beside a fraction it rounds
 * whole numbers beyond 2^53, and a null beside an array it makes an empty array or refuses.
 */
export class JsonElements {
  #wide: bigint | undefined;
  #fraction: number | undefined;
  readonly #nulls = new Set<number>();
  readonly #arrays = new Set<number>();

  /** Notes an element, `level` arrays deep: what does not go with the others completes "expected ...", or undefined. */
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
