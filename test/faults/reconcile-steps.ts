import { lifecycleCalls, type Call } from "../../reconciler/plan/calls.ts";

/**
 * The steps of an apply at which a daemon is killed: a call is noted and not yet made; it is being made; it was made, and
 * that is not yet noted; a change is in the history, and still open in the journal.
 */
export type ApplyStep = `${"before" | "during" | "after"} ${Call}` | "after the record";

export const applySteps: readonly ApplyStep[] = [
  ...lifecycleCalls.flatMap((call): ApplyStep[] => [`before ${call}`, `during ${call}`, `after ${call}`]),
  "after the record",
];
