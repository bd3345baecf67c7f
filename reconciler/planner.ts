import type { Inventory } from "./actual/inventory.ts";
import { snapshot } from "./actual/snapshot.ts";
import type { DeletionLimit } from "./actual/state.ts";
import type { Apply } from "./apply/apply.ts";
import type { AppliedEngine } from "./apply/carry-out.ts";
import type { Operations } from "./apply/operations.ts";
import type { DesiredState } from "./desired/desired-state.ts";
import { Loader } from "./desired/load.ts";
import type { Revision } from "./git/revision.ts";
import { planWithHolds } from "./holds/held-plan.ts";
import type { Holds } from "./holds/holds.ts";
import type { Plan } from "./plan/change.ts";

export interface PlannerDependencies {
  engine: Pick<AppliedEngine, "list" | "get" | "health" | "staleSecrets">;
  inventory: Inventory;
  operations: Operations;
  holds: Holds;
  limit: DeletionLimit;
  busy: () => Apply["busy"];
}

/** A plan, and the pipelines that were suspended at the moment for which it was made. */
export interface MadePlan {
  plan: Plan;
  suspended: ReadonlySet<string>;
}

/** Milliseconds that loading a revision for a preview may take. */
const loadTimeout = 60_000;

/** Takes a snapshot of all that a plan depends on, and makes the plan. */
export class Planner {
  readonly #dependencies: PlannerDependencies;

  constructor(dependencies: PlannerDependencies) {
    this.#dependencies = dependencies;
  }

  async make({ id, skipped }: Revision, desired: DesiredState): Promise<MadePlan> {
    const { engine, inventory, operations, holds, limit, busy } = this.#dependencies;
    const stale = await engine.staleSecrets();
    const seen = snapshot(engine, inventory, busy(), operations.interrupted, stale);
    const actual = { ...seen, budget: { ...inventory.deletionsOf(id), limit } };
    const plan = planWithHolds(actual, { ...desired, skipped }, holds.state);
    const ids = plan.changes.map(({ pipeline_id }) => pipeline_id);
    return { plan, suspended: new Set(ids.filter((one) => holds.of(one) !== undefined)) };
  }

  /** The plan for this revision. Leaves the cache of the followed files as it is. */
  async preview(revision: Revision): Promise<Plan> {
    const desired = await new Loader().load(revision.files, AbortSignal.timeout(loadTimeout));
    return (await this.make(revision, desired)).plan;
  }
}
