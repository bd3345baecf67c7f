import type { Hold, HoldsState } from "../holds/hold.ts";
import type { Change } from "../plan/change.ts";
import { reasonText, suspensionText } from "../plan/render/index.ts";
import type { Condition } from "./conditions.ts";

/** The suspension that applies to a pipeline: its own, by the id `held`, that of everything, or that of its file. */
export function suspensionOf(
  change: Change,
  held: string,
  own: Hold | undefined,
  everything: Hold | undefined,
): Condition | undefined {
  if (own !== undefined) {
    return suspended("SuspendedByOperator", `suspended ${suspensionText(own)}. "sluice resume ${held}" resumes it`);
  }
  if (everything !== undefined) {
    return suspended(
      "EverythingSuspended",
      `everything is suspended ${suspensionText(everything)}. "sluice resume" resumes it`,
    );
  }
  return change.cause === "Suspended" ? suspended("SuspendedByFile", reasonText(change.why)) : undefined;
}

/**
 * Conditions of the source, with suspensions and a pin. `waiting` are pipelines that would be changed. That everything
 * matches an earlier commit is said together with why it is that one.
 */
export function withHolds(conditions: Condition[], { everything, pin }: HoldsState, waiting: string[]): Condition[] {
  const [ready, ...rest] = conditions;
  const first = pin !== undefined && ready?.status === "True" ? rolledBack(ready, pin) : ready;
  const isHeld = everything !== undefined && waiting.length > 0 && first?.status === "True";
  const wait = waiting.length === 1 ? "1 change waits" : `${waiting.length} changes wait`;
  const message = `${wait} for "sluice resume": ${waiting.slice(0, 5).join(", ")}`;
  const summary: Condition[] = isHeld ? [{ type: "Ready", status: "False", reason: "Suspended", message }] : [];
  return [
    ...(isHeld || first === undefined ? summary : [first]),
    ...rest,
    ...(everything === undefined ? [] : [suspended("EverythingSuspended", `suspended ${suspensionText(everything)}`)]),
    ...(pin === undefined ? [] : [pinned(pin)]),
  ];
}

function suspended(reason: string, message: string): Condition {
  return { type: "Suspended", status: "True", reason, message };
}

function rolledBack(ready: Condition, pin: NonNullable<HoldsState["pin"]>): Condition {
  return { ...ready, message: `rolled back ${suspensionText(pin)}; ${ready.message}` };
}

function pinned(pin: NonNullable<HoldsState["pin"]>): Condition {
  const until = `until the followed ref moves on from ${pin.head}, or "sluice rollback --cancel"`;
  return {
    type: "Pinned",
    status: "True",
    reason: "RolledBack",
    message: `pinned to ${pin.revision} ${suspensionText(pin)}; ${until}`,
  };
}
