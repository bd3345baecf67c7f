import type { FunctionDefinition } from "../catalog.ts";
import { integer } from "../types.ts";
import { wrapped } from "../values.ts";

const pair = { takes: ["int", "int"], gives: integer } as const;

function bits(combine: (a: bigint, b: bigint) => bigint): FunctionDefinition {
  return { ...pair, run: (_, a, b) => wrapped(combine(a as bigint, b as bigint)) };
}

/** A shift by 64 or more moves every bit out. */
function shift(move: (value: bigint, places: bigint) => bigint): FunctionDefinition {
  return {
    ...pair,
    run: ({ fail }, value, places) => {
      if ((places as bigint) < 0n) return fail("a shift by a negative number of bits");
      return wrapped(move(value as bigint, (places as bigint) > 64n ? 64n : (places as bigint)));
    },
  };
}

/** Bits of integers; numbers of an event go through `int(…)` first. */
export const bitFunctions: Readonly<Record<string, FunctionDefinition>> = {
  bitand: bits((a, b) => a & b),
  bitor: bits((a, b) => a | b),
  bitxor: bits((a, b) => a ^ b),
  bitnand: bits((a, b) => a & ~b),
  bitnot: { takes: ["int"], gives: integer, run: (_, value) => ~(value as bigint) },
  bitshl: shift((value, places) => value << places),
  bitshr: shift((value, places) => value >> places),
  bitushr: shift((value, places) => BigInt.asUintN(64, value) >> places),
};
