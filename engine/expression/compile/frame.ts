import { Budget } from "../values/budget.ts";
import type { TextMap } from "../values/values.ts";
import type { Fail } from "../values/arithmetic.ts";
import type { PointerNode } from "../syntax/ast.ts";

/**
 * The state of one evaluation. Every program has one frame and reuses it for each record, so an evaluation allocates no
 * state; evaluations of one program never overlap.
 */
export class Frame {
  record: TextMap = {};
  /** Milliseconds since the epoch. */
  clock = 0;
  readonly budget = new Budget();
  /** Variables of `let`, and item, index and accumulator of predicates. The compiler assigns the slots. */
  readonly slots: unknown[] = [];

  begin(record: TextMap, clock: number): void {
    this.record = record;
    this.clock = clock;
    this.budget.reset();
  }
}

/** A compiled node. nil is null, never undefined. */
export type Code = (frame: Frame) => unknown;

/** Slots of the frame that a predicate reads. */
export interface LoopSlots {
  readonly item: number;
  readonly index: number;
  readonly acc: number;
}

/**
 * The names at one place of an expression: variables and the innermost predicate, each with its slot in the frame.
 * Immutable: a declaration makes a new scope.
 */
export class Scope {
  readonly #variables: ReadonlyMap<string, number>;
  readonly #loop: LoopSlots | undefined;
  /** The first slot that is free here. */
  readonly #next: number;

  constructor(variables: ReadonlyMap<string, number> = new Map(), loop?: LoopSlots, next = 0) {
    this.#variables = variables;
    this.#loop = loop;
    this.#next = next;
  }

  /** Adds a variable; returns its slot and the scope that has it. */
  declare(name: string): [number, Scope] {
    const variables = new Map(this.#variables).set(name, this.#next);
    return [this.#next, new Scope(variables, this.#loop, this.#next + 1)];
  }

  /** Enters a predicate; returns the slots of its item, index and accumulator. */
  loop(): [LoopSlots, Scope] {
    const loop = { item: this.#next, index: this.#next + 1, acc: this.#next + 2 };
    return [loop, new Scope(this.#variables, loop, this.#next + 3)];
  }

  /** Reads a variable; undefined if there is no variable of that name. */
  variable(name: string): Code | undefined {
    const slot = this.#variables.get(name);
    return slot === undefined ? undefined : ({ slots }) => slots[slot];
  }

  /** Reads `#`, `#index` or `#acc`. An undefined item belongs to a map, whose items have no order. */
  pointer(name: PointerNode["name"], fail: Fail): Code {
    const slot = this.#loop?.[name];
    if (slot === undefined) return () => fail("# is defined only in the predicate of a function such as filter or map");
    if (name !== "item") return ({ slots }) => slots[slot];
    return ({ slots }) => {
      const item = slots[slot];
      return item === undefined ? fail("expected an array, found map: its values have no index; use values(…)") : item;
    };
  }
}
