import type { Found, Outcome } from "./outcome.ts";
import type { Mismatch } from "./compare.ts";
import type { NamedTest } from "./read-tests.ts";

/** How a test ended. `broken`: it could not be run, or not to its end. */
export type TestResult = { test: NamedTest; milliseconds: number } & (
  | { status: "passed"; found: Found }
  | { status: "failed"; found: Found; mismatches: readonly Mismatch[] }
  | { status: "broken"; failure: string; outcomes: readonly Outcome[] }
);

/** How the events of a test fare with the pipeline of the base and with that of the head. */
export type ChangeResult = { test: NamedTest } & (
  | { status: "compared"; changes: readonly OutcomeChange[]; written: WrittenEvents }
  | { status: "new" }
  | { status: "broken"; failure: string }
);

/** Events that became rows at the base and at the head, and those that a filter of the head dropped. */
export interface WrittenEvents {
  base: number;
  head: number;
  filtered: number;
}

/** An event whose outcome changed; `event` counts from 0. */
export interface OutcomeChange {
  event: number;
  base: Outcome;
  head: Outcome;
}
