import { arithmetic } from "./arithmetic.ts";
import type { Fail } from "./arithmetic.ts";
import type { CallNode } from "./ast.ts";
import type { Compiler } from "./compile.ts";
import type { Code, Frame } from "./frame.ts";
import { ordered } from "./ordering.ts";
import type { Scope } from "./scope.ts";
import { int, isMap, kindOf, sizeOf } from "./values.ts";

/** One run of a predicate over a collection. */
interface Loop {
  readonly length: number;
  /** The predicate's value for the item at `index`. */
  readonly at: (index: number) => unknown;
  /** The same where the predicate must be a bool. */
  readonly test: (index: number) => boolean;
  readonly item: (index: number) => unknown;
  readonly frame: Frame;
  readonly fail: Fail;
  /** The accumulator of `reduce`. */
  readonly accumulate: (value: unknown) => void;
}

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

/** `filter(list, predicate)` and its kin. The predicate is evaluated per item; each costs one unit of the budget. */
export function compileLoop(compiler: Compiler, node: CallNode, scope: Scope): Code {
  const [collection, predicate, extra] = node.args;
  const body = bodies[node.name];
  if (collection === undefined || body === undefined) throw new Error(`${node.name} passed the check and cannot run`);
  const items = compiler.code(collection, scope);
  const [slots, inner] = scope.loop();
  const test = predicate === undefined ? inner.pointer("item", compiler.fail(node)) : compiler.code(predicate, inner);
  const third = extra === undefined ? undefined : compiler.code(extra, scope);
  const fail = compiler.fail(node);
  const failTest = compiler.fail(predicate ?? node);
  return (frame) => {
    const values = items(frame);
    const array = Array.isArray(values) ? (values as readonly unknown[]) : undefined;
    if (array === undefined && !isMap(values)) return fail(`${node.name} expects an array, found ${kindOf(values)}`);
    const item = (index: number): unknown => {
      return array === undefined ? fail(`${node.name} expects an array, found map`) : (array[index] ?? null);
    };
    const at = (index: number): unknown => {
      frame.budget.step(1);
      frame.slots[slots.item] = array === undefined ? undefined : (array[index] ?? null);
      frame.slots[slots.index] = int(index);
      return test(frame);
    };
    const loop: Loop = {
      length: array === undefined ? sizeOf(values as object as Map<unknown, unknown>) : array.length,
      at,
      test: (index) => {
        const found = at(index);
        return typeof found === "boolean"
          ? found
          : failTest(`the predicate of ${node.name} is a bool, found ${kindOf(found)}`);
      },
      item,
      frame,
      fail,
      accumulate: (value) => {
        frame.slots[slots.acc] = value;
      },
    };
    return body(loop, third);
  };
}

function some({ length, test }: Loop, wanted: boolean): boolean {
  for (let index = 0; index < length; index += 1) if (test(index) === wanted) return true;
  return false;
}

function indexes({ length, test }: Loop): number[] {
  const found: number[] = [];
  for (let index = 0; index < length; index += 1) if (test(index)) found.push(index);
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

function first({ length, test }: Loop): number {
  for (let index = 0; index < length; index += 1) if (test(index)) return index;
  return -1;
}

function last({ length, test }: Loop): number {
  for (let index = length - 1; index >= 0; index -= 1) if (test(index)) return index;
  return -1;
}

function itemOrNil(loop: Loop, index: number): unknown {
  return index === -1 ? null : loop.item(index);
}

function indexOrNil(index: number): unknown {
  return index === -1 ? null : int(index);
}

function sum({ length, at, fail, frame }: Loop): unknown {
  let total: unknown = 0n;
  for (let index = 0; index < length; index += 1) total = arithmetic["+"](at(index), total, fail, frame.budget);
  return total;
}

/** Groups keep the kind of their key: 1 and 1.0 are two. */
function groupBy({ length, at, item, fail }: Loop): unknown {
  const groups = new Map<unknown, unknown[]>();
  for (let index = 0; index < length; index += 1) {
    const key = at(index);
    if (typeof key === "object" && key !== null)
      return fail(`the key of a group is a text, number or bool, found ${kindOf(key)}`);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item(index)]);
    else group.push(item(index));
  }
  return groups;
}

function sortBy(loop: Loop, order: Code | undefined): unknown {
  const direction = sortDirection(order?.(loop.frame) ?? "asc", loop.fail);
  const keyed = Array.from({ length: loop.length }, (_, index) => ({ key: loop.at(index), item: loop.item(index) }));
  loop.frame.budget.allocate(loop.length);
  return keyed.toSorted((a, b) => direction * ordered(a.key, b.key, loop.fail)).map(({ item }) => item);
}

/** 1 for `asc`, -1 for `desc`. */
export function sortDirection(order: unknown, fail: Fail): 1 | -1 {
  if (order === "asc") return 1;
  return order === "desc" ? -1 : fail(`expected "asc" or "desc" as the order, found another ${kindOf(order)}`);
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
