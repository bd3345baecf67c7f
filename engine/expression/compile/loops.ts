import { arithmetic, type Fail } from "../values/arithmetic.ts";
import type { CallNode } from "../syntax/ast.ts";
import type { Compiler } from "./compile.ts";
import type { Code, Frame, LoopSlots, Scope } from "./frame.ts";
import { ordered, sortDirection } from "../values/comparison.ts";
import { byte, isByte } from "../values/named.ts";
import { int, isMap, kindOf, sizeOf } from "../values/values.ts";

type Body = (loop: Loop, extra: Code | undefined) => unknown;

const bodies: Readonly<Record<string, Body>> = {
  all: (loop) => !some(loop, false),
  none: (loop) => !some(loop, true),
  any: (loop) => some(loop, true),
  one: (loop) => matching(loop) === 1,
  count: (loop) => int(matching(loop)),
  filter,
  map: (loop) => {
    loop.frame.budget.allocate(loop.length);
    return Array.from({ length: loop.length }, (_, index) => loop.at(index));
  },
  find: (loop) => itemOrNil(loop, first(loop)),
  findIndex: (loop) => indexOrNil(first(loop)),
  findLast: (loop) => itemOrNil(loop, last(loop)),
  findLastIndex: (loop) => indexOrNil(last(loop)),
  sum,
  groupBy,
  sortBy,
  reduce,
};

/** `filter(list, predicate)` and similar functions; `does` is what it does with its items, where that is less than its name says. */
export function compileLoop(compiler: Compiler, node: CallNode, scope: Scope, does = node.name): Code {
  const { name, args } = node;
  const [collection, predicate, extra] = args;
  const body = bodies[does];
  if (collection === undefined || body === undefined) throw new Error(`${name} passed the check and cannot run`);
  const items = compiler.code(collection, scope);
  const third = extra === undefined ? undefined : compiler.code(extra, scope);
  const [slots, inner] = scope.loop();
  const fail = compiler.fail(node);
  const site: LoopSite = {
    name,
    slots,
    fail,
    predicate: predicate === undefined ? inner.pointer("item", fail) : compiler.code(predicate, inner),
    failPredicate: compiler.fail(predicate ?? node),
  };
  return (frame) => body(new Loop(site, frame, items(frame)), third);
}

function some(loop: Loop, wanted: boolean): boolean {
  for (let index = 0; index < loop.length; index += 1) if (loop.test(index) === wanted) return true;
  return false;
}

function indexes(loop: Loop): number[] {
  const found: number[] = [];
  for (let index = 0; index < loop.length; index += 1) if (loop.test(index)) found.push(index);
  return found;
}

function filter(loop: Loop): unknown[] {
  const found = indexes(loop);
  loop.frame.budget.allocate(found.length);
  return found.map((index) => loop.item(index));
}

function matching(loop: Loop): number {
  return indexes(loop).length;
}

function first(loop: Loop): number {
  for (let index = 0; index < loop.length; index += 1) if (loop.test(index)) return index;
  return -1;
}

function last(loop: Loop): number {
  for (let index = loop.length - 1; index >= 0; index -= 1) if (loop.test(index)) return index;
  return -1;
}

function itemOrNil(loop: Loop, index: number): unknown {
  return index === -1 ? null : loop.item(index);
}

function indexOrNil(index: number): unknown {
  return index === -1 ? null : int(index);
}

function sum(loop: Loop): unknown {
  let total: unknown = 0n;
  for (let index = 0; index < loop.length; index += 1)
    total = arithmetic["+"](loop.at(index), total, loop.fail, loop.frame.budget);
  return total;
}

/** Groups keep the kind of their key: 1 and 1.0 are two groups. */
function groupBy(loop: Loop): unknown {
  const groups = new Map<unknown, unknown[]>();
  for (let index = 0; index < loop.length; index += 1) {
    const key = loop.at(index);
    if (typeof key === "object" && key !== null && !isByte(key))
      return loop.fail(`the key of a group is a text, number or bool, found ${kindOf(key)}`);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [loop.item(index)]);
    else group.push(loop.item(index));
  }
  return groups;
}

function sortBy(loop: Loop, order: Code | undefined): unknown {
  const direction = sortDirection(order?.(loop.frame) ?? "asc", loop.fail);
  const keyed = Array.from({ length: loop.length }, (_, index) => ({ key: loop.at(index), item: loop.item(index) }));
  loop.frame.budget.allocate(loop.length);
  return keyed.toSorted((a, b) => direction * ordered(a.key, b.key, loop.fail)).map(({ item }) => item);
}

function reduce(loop: Loop, initial: Code | undefined): unknown {
  if (initial === undefined && loop.length === 0) return loop.fail("reduce of an empty array needs a first value");
  let accumulator = initial === undefined ? loop.item(0) : initial(loop.frame);
  for (let index = initial === undefined ? 1 : 0; index < loop.length; index += 1) {
    loop.accumulate(accumulator);
    accumulator = loop.at(index);
  }
  return accumulator;
}

/** The items of an array, the bytes of a text. */
function itemsOf(collection: unknown, { budget }: Frame): readonly unknown[] | undefined {
  if (typeof collection !== "string") return Array.isArray(collection) ? collection : undefined;
  const bytes = Buffer.from(collection);
  budget.allocate(bytes.length);
  return Array.from(bytes, byte);
}

/** A call of a function such as `filter` or `map` in the text of an expression. */
interface LoopSite {
  readonly name: string;
  readonly predicate: Code;
  readonly slots: LoopSlots;
  /** Fails at the call. */
  readonly fail: Fail;
  /** Fails at the predicate. */
  readonly failPredicate: Fail;
}

/**
 * One run of a predicate over a collection. The items of a map have no order: a loop over a map counts them, and fails
 * if the predicate reads an item.
 */
class Loop {
  readonly length: number;
  readonly frame: Frame;
  readonly fail: Fail;
  readonly #items: readonly unknown[] | undefined;
  readonly #site: LoopSite;

  constructor(site: LoopSite, frame: Frame, collection: unknown) {
    this.#site = site;
    this.frame = frame;
    this.fail = site.fail;
    this.#items = itemsOf(collection, frame);
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

  /** The same, for a predicate that must return a bool. */
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
