import { parseDuration } from "../../../schemas/index.ts";
import { found } from "../found.ts";
import type { Problem } from "../problem.ts";
import type { View } from "../view.ts";

const longestWindow = 168n * 3_600_000_000_000n;

/** A window of dedup or join: longer than nothing and at most seven days. */
export function* mustBeWindow(view: View): Iterable<Problem> {
  yield* mustLast(
    view,
    "a duration of more than 0 and at most 168h",
    (length) => length > 0n && length <= longestWindow,
  );
}

/** A duration that is longer than nothing. */
export function* mustBePositive(view: View): Iterable<Problem> {
  yield* mustLast(view, "a duration of more than 0", (length) => length > 0n);
}

/** A duration that can be told at all: the grammar allows longer ones than fit into 292 years. */
export function* mustBeDuration(view: View): Iterable<Problem> {
  yield* mustLast(view, "a duration of at most 292 years", () => true);
}

/** Speaks only of texts that keep the grammar, which is the schema's to check. */
function* mustLast(view: View, expected: string, fits: (nanoseconds: bigint) => boolean): Iterable<Problem> {
  if (view.text === undefined || !/^[+-]?[\d.]/.test(view.text) || !/^[+-]?[\d.nuµμmshd]+$/.test(view.text)) return;
  const length = parseDuration(view.text);
  if (length !== undefined && fits(length)) return;
  yield view.problem("DURATION", { expected, found: found(view.value, view.path) });
}
