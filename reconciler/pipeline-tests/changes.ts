import { isDeepStrictEqual } from "node:util";
import { writeExactly } from "../../engine/language.ts";
import type { Found, Outcome, Row } from "./outcome.ts";
import type { OutcomeChange } from "./result.ts";

/**
 * The events whose outcome changed, of rows in these columns. Where the tables do not say which row is of which event,
 * rows that differ count as a change of every event that wrote one.
 */
export function changesBetween(base: Found, head: Found, columns: ReadonlySet<string>): OutcomeChange[] {
  const hasOtherRows = !isDeepStrictEqual(texts(base, columns), texts(head, columns));
  return head.outcomes.flatMap((of, event): OutcomeChange[] => {
    const earlier = base.outcomes[event];
    if (earlier === undefined) return [];
    const [before, after] = [within(earlier, columns), within(of, columns)];
    const isKnown = before.rows !== undefined && after.rows !== undefined;
    const mayDiffer = !isKnown && before.written + after.written > 0 && hasOtherRows;
    return isDeepStrictEqual(before, after) && !mayDiffer ? [] : [{ event, base: before, head: after }];
  });
}

function within({ rows, ...outcome }: Outcome, columns: ReadonlySet<string>): Outcome {
  return rows === undefined ? outcome : { ...outcome, rows: rows.map((row) => inColumns(row, columns)) };
}

function inColumns(row: Row, columns: ReadonlySet<string>): Row {
  return Object.fromEntries(Object.entries(row).filter(([column]) => columns.has(column)));
}

function texts({ rows }: Found, columns: ReadonlySet<string>): string[] {
  return rows.map((row) => writeExactly(inColumns(row, columns))).toSorted();
}
