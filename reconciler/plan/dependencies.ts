import type { ActualState } from "../actual/state.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import type { Change } from "./change.ts";
import { idle } from "./idle.ts";

/**
 * Puts `depends_on` into effect. A pipeline is created, changed or resumed only while each of its dependencies runs or
 * will run by this plan, and after their changes. What only stops is not held up. `desired` and `changes` are of the same
 * pipelines; those that depend on each other in a circle were refused when they were read.
 */
export function inOrder(
  desired: readonly DesiredPipeline[],
  changes: readonly Change[],
  actual: ActualState,
): Change[] {
  const byId = new Map(desired.map((one) => [one.pipeline_id, one]));
  const planned = new Map(changes.map((change) => [change.pipeline_id, change]));
  const depths = depthsOf(byId);
  const ids = [...byId.keys()].toSorted((a, b) => (depths.get(a) ?? 0) - (depths.get(b) ?? 0) || compare(a, b));
  const settled = new Map<string, Change>();
  for (const id of ids) {
    const [one, change] = [byId.get(id), planned.get(id)];
    if (one === undefined || change === undefined) continue;
    settled.set(id, held(one, change, settled, byId, actual));
  }
  return [...settled.values()];
}

function held(
  one: DesiredPipeline,
  change: Change,
  settled: ReadonlyMap<string, Change>,
  desired: ReadonlyMap<string, DesiredPipeline>,
  actual: ActualState,
): Change {
  if (change.calls.length === 0 || one.directives.state !== "Running") return change;
  for (const id of one.directives.depends_on) {
    const why = whyNotRunning(id, settled.get(id), desired.get(id), actual);
    if (why === undefined) continue;
    if (change.replaces === true)
      return idle(one, "InProgress", `an earlier change is carried to its end: ${id} ${why}`);
    const reason = `blocked by ${id}, which ${why}: this is carried out when ${id} runs`;
    return { ...change, kind: "no-op", cause: "DependencyNotReady", reason, calls: [] };
  }
  const after = one.directives.depends_on.filter((id) => (settled.get(id)?.calls.length ?? 0) > 0);
  return { ...change, after: after.toSorted(compare) };
}

/** Why a dependency will not run after this plan; undefined if it will. */
function whyNotRunning(
  id: string,
  change: Change | undefined,
  desired: DesiredPipeline | undefined,
  actual: ActualState,
): string | undefined {
  const status = actual.pipelines.get(id)?.status;
  if (desired === undefined || change === undefined) {
    if (status === undefined) return "no valid file describes";
    return status === "Running" ? undefined : `is ${status}`;
  }
  if (change.calls.length > 0)
    return desired.directives.state === "Running" ? undefined : `is to be ${desired.directives.state}`;
  if (status === "Running") return undefined;
  return status === undefined ? `is not there (${change.cause})` : `is ${status} (${change.cause})`;
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
