import type { PipelineHealth } from "../../engine/index.ts";

/** Of so many left events whose window has ended, one with a match is few. */
const fewMatches = 100;

/** Without figures, which would change at each look. */
const messages = {
  NoRightEvents:
    "left events come, and the join buffers no right event, so that it makes no rows: check that the topic of the right side has " +
    "messages, and that the window of the right side is as long as its events count",
  NoMatches:
    `of the left events whose window has ended since the start, fewer than 1 in ${fewMatches} met a right event: check that both sides ` +
    "have the same values in their keys, and that the windows are as long as the one side is late",
} as const;

/** Why a join makes no rows, or few. */
export interface Unmatched {
  reason: keyof typeof messages;
  message: string;
}

/** Why the join of a pipeline makes no rows, or few, although left events come; undefined where it makes some. */
export function unmatched(health: PipelineHealth): Unmatched | undefined {
  const { overall_status, join, counters } = health;
  if (overall_status !== "Running" || join?.left === undefined || join.right === undefined) return undefined;
  const { left_unmatched, rows_joined } = counters;
  const isWithoutRight = join.right.events === 0 && join.left.events + left_unmatched > 0;
  if (isWithoutRight) return { reason: "NoRightEvents", message: messages.NoRightEvents };
  const hasFew = left_unmatched > rows_joined * (fewMatches - 1);
  return hasFew ? { reason: "NoMatches", message: messages.NoMatches } : undefined;
}
