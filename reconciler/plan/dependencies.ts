import type { ActualState } from "../actual/state.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import type { Change } from "./change.ts";
import { idle } from "./idle.ts";

/**
 * Puts `depends_on` into effect. A pipeline is created, changed or resumed only while each of its dependencies runs or
 * will run by this plan, and after their changes. What only stops is not held up. `desired` and `changes` are of the same
 * pipelines; those that depend on each other in a circle were refused when they were read. `unusable` are pipelines whose
 * file cannot be used.
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
    const why = whyNotRunning(id, others);
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
function whyNotRunning(id: string, { settled, desired, actual, unusable }: Others): string | undefined {
  const status = actual.pipelines.get(id)?.status;
  const [change, state] = [settled.get(id), desired.get(id)?.directives.state];
  if (change !== undefined && change.calls.length > 0)
    return state === "Running" ? undefined : `is to be ${state ?? "gone"}`;
  if (status === "Running") return undefined;
  const is = status === undefined ? "is not there" : `is ${status}`;
  if (change !== undefined) return `${is}${because(change, state)}`;
  if (unusable.has(id)) return `${is}, and its file cannot be used`;
  return status === undefined ? "no valid file describes" : `${is}, and no valid file describes it`;
}

/** Why nothing is done about it. */
function because({ kind, cause }: Change, state: string | undefined): string {
  if (kind === "refuse") return `, and its change was refused (${cause})`;
  if (cause === "Suspended") return ", and is suspended";
  if (cause === "DriftIgnored") return ", and its x-sluice.drift is ignore";
  if (cause === "Drifted") return ", which its file does not say (Drifted)";
  return cause === "InSync" && state !== undefined ? `, as its x-sluice.state is ${state}` : ` (${cause})`;
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
