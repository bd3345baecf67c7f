import type { ActualState } from "../../actual/state.ts";
import type { DesiredPipeline, WishedState } from "../../desired/desired-state.ts";
import { isReplacing } from "../change.ts";
import type { Change } from "../change.ts";
import type { NotRunning } from "../reason.ts";
import { noOp } from "./changes.ts";

/**
 * Puts `depends_on` into effect. A pipeline is created, changed or resumed only while each of its dependencies runs or
 * will run by this plan, and after their changes. A change that only stops does not wait. `desired` and `changes` are
 * of the same pipelines; those that depend on each other in a circle were refused when they were read. `unusable` are
 * pipelines whose file cannot be used.
 */
export function inOrder(
  desired: readonly DesiredPipeline[],
  changes: readonly Change[],
  actual: ActualState,
  unusable: ReadonlySet<string> = new Set(),
): Change[] {
  const byId = new Map(desired.map((one) => [one.pipeline_id, one]));
  const planned = new Map(changes.map((change) => [change.pipeline_id, change]));
  const depths = depthsOf(byId);
  const ids = [...byId.keys()].toSorted((a, b) => (depths.get(a) ?? 0) - (depths.get(b) ?? 0) || compare(a, b));
  const settled = new Map<string, Change>();
  for (const id of ids) {
    const [one, change] = [byId.get(id), planned.get(id)];
    if (one === undefined || change === undefined) continue;
    settled.set(id, held(one, change, { settled, desired: byId, actual, unusable }));
  }
  return [...settled.values()];
}

/** What a dependency is judged by. */
interface Others {
  settled: ReadonlyMap<string, Change>;
  desired: ReadonlyMap<string, DesiredPipeline>;
  actual: ActualState;
  unusable: ReadonlySet<string>;
}

function held(one: DesiredPipeline, change: Change, others: Others): Change {
  const { settled } = others;
  if (change.calls.length === 0 || one.directives.state !== "Running") return change;
  for (const id of one.directives.depends_on) {
    const dependency = notRunning(id, others);
    if (dependency === undefined) continue;
    if (isReplacing(change)) return noOp(one, "InProgress", { code: "InProgressMeanwhile", facts: { dependency } });
    return blocked(change, dependency);
  }
  const after = one.directives.depends_on.filter((id) => (settled.get(id)?.calls.length ?? 0) > 0);
  return { ...change, after: after.toSorted(compare) };
}

/** The reason names what would change; no call is made. */
export function blocked(change: Change, dependency: NotRunning): Change {
  const why = { code: "DependencyNotReady", facts: { dependency } } as const;
  return { ...change, kind: "no-op", cause: "DependencyNotReady", why, calls: [] };
}

/** A dependency that will not run after this plan, and why; undefined if it will. */
function notRunning(pipeline_id: string, { settled, desired, actual, unusable }: Others): NotRunning | undefined {
  const status = actual.pipelines.get(pipeline_id)?.status;
  const [change, state] = [settled.get(pipeline_id), desired.get(pipeline_id)?.directives.state];
  const wish: { state?: WishedState } = state === undefined ? {} : { state };
  if (change !== undefined && change.calls.length > 0)
    return state === "Running" ? undefined : { pipeline_id, why: { is: "planned", ...wish } };
  if (status === "Running") return undefined;
  const there = { pipeline_id, ...(status !== undefined && { status }) };
  if (change !== undefined) return { ...there, why: leftBy(change, wish) };
  return { ...there, why: { is: unusable.has(pipeline_id) ? "unusable" : "unknown" } };
}

/** Why nothing is done about it. */
function leftBy({ kind, cause }: Change, wish: { state?: WishedState }): NotRunning["why"] {
  return { is: "left", isRefused: kind === "refuse", cause, ...(cause === "InSync" && wish) };
}

/** The length of the longest chain of dependencies below each pipeline. */
function depthsOf(desired: ReadonlyMap<string, DesiredPipeline>): Map<string, number> {
  const depths = new Map<string, number>();
  for (let found = true; found;) {
    found = false;
    for (const [id, { directives }] of desired) {
      if (depths.has(id)) continue;
      const below = directives.depends_on.filter((other) => desired.has(other)).map((other) => depths.get(other));
      if (below.includes(undefined)) continue;
      depths.set(id, Math.max(0, ...below.map((depth) => (depth ?? 0) + 1)));
      found = true;
    }
  }
  return depths;
}

/** The order of pipelines that have no other: by code unit, the same on every machine. */
export function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
