import type { Fail } from "./arithmetic.ts";
import type { Code, Frame } from "./frame.ts";
import type { LoopSlots } from "./scope.ts";
import { int, isMap, kindOf, sizeOf } from "./values.ts";

/** A call of `filter`, `map` or the like in the text of an expression. */
export interface LoopSite {
  readonly name: string;
  readonly predicate: Code;
  readonly slots: LoopSlots;
  /** Fails at the call. */
  readonly fail: Fail;
  /** Fails at the predicate. */
  readonly failPredicate: Fail;
}

/**
 * One run of a predicate over a collection. The items of a map have no order: a loop over one counts them, and fails
 * where an item itself is asked for.
 */
export class Loop {
  readonly length: number;
  readonly frame: Frame;
  readonly fail: Fail;
  readonly #items: readonly unknown[] | undefined;
  readonly #site: LoopSite;

  constructor(site: LoopSite, frame: Frame, collection: unknown) {
    this.#site = site;
    this.frame = frame;
    this.fail = site.fail;
    this.#items = Array.isArray(collection) ? collection : undefined;
    if (this.#items !== undefined) this.length = this.#items.length;
    else if (isMap(collection)) this.length = sizeOf(collection);
    else this.fail(`${site.name} expects an array, found ${kindOf(collection)}`);
  }

  /** The value of the predicate for the item at `index`. Costs one step. */
  at(index: number): unknown {
    const { slots, predicate } = this.#site;
    this.frame.budget.step(1);
    this.frame.slots[slots.item] = this.#items === undefined ? undefined : (this.#items[index] ?? null);
    this.frame.slots[slots.index] = int(index);
    return predicate(this.frame);
  }

  /** The same where the predicate must give a bool. */
  test(index: number): boolean {
    const found = this.at(index);
    if (typeof found === "boolean") return found;
    return this.#site.failPredicate(`the predicate of ${this.#site.name} is a bool, found ${kindOf(found)}`);
  }

  item(index: number): unknown {
    if (this.#items === undefined) return this.fail(`${this.#site.name} expects an array, found map`);
    return this.#items[index] ?? null;
  }

  /** Sets what `#acc` reads. */
  accumulate(value: unknown): void {
    this.frame.slots[this.#site.slots.acc] = value;
  }
}
