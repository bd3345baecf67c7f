import type { Hold, HoldsState } from "../holds/hold.ts";
import { describeHold } from "../holds/hold.ts";
import type { Change } from "../plan/change.ts";
import type { Condition } from "./conditions.ts";

/** Why a pipeline is left alone: an operator said so of it, or of everything, or its file does. */
export function suspensionOf(
  change: Change,
  own: Hold | undefined,
  everything: Hold | undefined,
): Condition | undefined {
  if (own !== undefined) {
    return suspended("SuspendedByOperator", `${describeHold(own)}. "sluice resume ${change.pipeline_id}" lifts it`);
  }
  if (everything !== undefined) {
    return suspended(
      "EverythingSuspended",
      `everything is suspended ${describeHold(everything)}. "sluice resume" lifts it`,
    );
  }
  return change.cause === "Suspended" ? suspended("SuspendedByFile", change.reason) : undefined;
}

/** Conditions of the source, with what an operator holds. `waiting` are pipelines that would be changed. */
export function withHolds(conditions: Condition[], { everything, pin }: HoldsState, waiting: string[]): Condition[] {
  const [first, ...rest] = conditions;
  const isHeld = everything !== undefined && waiting.length > 0 && first?.status === "True";
  const message = `${waiting.length} changes wait for "sluice resume": ${waiting.slice(0, 5).join(", ")}`;
  const summary: Condition[] = isHeld ? [{ type: "Ready", status: "False", reason: "Suspended", message }] : [];
  return [
    ...(isHeld || first === undefined ? summary : [first]),
    ...rest,
    ...(everything === undefined ? [] : [suspended("EverythingSuspended", describeHold(everything))]),
    ...(pin === undefined ? [] : [pinned(pin)]),
  ];
}

function suspended(reason: string, message: string): Condition {
  return { type: "Suspended", status: "True", reason, message };
}

function pinned(pin: NonNullable<HoldsState["pin"]>): Condition {
  const until = `until the followed ref moves on from ${pin.head}, or "sluice rollback --cancel"`;
  return {
    type: "Pinned",
    status: "True",
    reason: "RolledBack",
    message: `${pin.revision}, ${describeHold(pin)}; ${until}`,
  };
}
