import type { Change } from "../change.ts";
import { cautionText, reasonText } from "./reasons.ts";

/** The sentences: every text about a plan is made here, for terminal, log, API and history. */
export { costText, tableText } from "./costs.ts";
export { hindranceText } from "./ending.ts";
export { lossText } from "./losses.ts";
export { fieldLines, printChange, printPlan, summary } from "./print.ts";
export { cautionText, reasonText, suspensionText } from "./reasons.ts";
export { someOf } from "./words.ts";

/** A change with its sentences, as the API shows it. */
export type ShownChange = Change & {
  /** `why`, for a person. */
  reason: string;
  /** `cautions`, for a person. */
  warnings?: string[];
};

export function shownChange(change: Change): ShownChange {
  const { why, cautions } = change;
  return { ...change, reason: reasonText(why), ...(cautions !== undefined && { warnings: cautions.map(cautionText) }) };
}
