import type { StaleSecrets } from "../engine/index.ts";
import type { Inventory, NotRead } from "./actual/inventory.ts";
import { snapshot } from "./actual/snapshot.ts";
import type { ActualState, DeletionLimit } from "./actual/state.ts";
import type { Apply } from "./apply/apply.ts";
import type { AppliedEngine } from "./apply/carry-out.ts";
import type { Operations } from "./apply/operations.ts";
import { claimedButIgnored, withClaimed } from "./desired/claimed.ts";
import type { DesiredPipeline, DesiredState } from "./desired/desired-state.ts";
import { withoutFaulty } from "./desired/faulty.ts";
import type { FileReader } from "./desired/file-reader.ts";
import { Loader } from "./desired/load.ts";
import { filesOf, type Revision, unreadPaths, type SourceDescription } from "./git/revision.ts";
import { followedSource, sourceChange, type SourceChange, withoutChanges } from "./holds/source-change.ts";
import type { Variables } from "./language/variables.ts";
import { type ApprovalRule, approvalsFor, withApprovals } from "./holds/approval.ts";
import { withSettling } from "./holds/settling.ts";
import { suspendedId } from "./holds/hold.ts";
import { planWithHolds, whileSuspended, withStopsOver } from "./holds/held-plan.ts";
import type { Holds } from "./holds/holds.ts";
import type { Plan } from "./plan/change.ts";
import { movesMade, notReadOf, unreadFiles, withMoves, withoutSuspicion } from "./plan/decide/index.ts";
import type { Level } from "./plan/level.ts";
import { liveState, type LiveState } from "./preview/live-state.ts";

export interface PlannerDependencies {
  source: { readonly description: SourceDescription };
  engine: Pick<AppliedEngine, "list" | "get" | "health" | "staleSecrets">;
  inventory: Inventory;
  operations: Operations;
  holds: Holds;
  limit: DeletionLimit;
  /** Changes of this level and graver ones wait for an approval in Git; absent where none does. */
  approve: Level | undefined;
  variables: () => Promise<Variables>;
  reader: FileReader | undefined;
  busy: () => Apply["busy"];
}

/** The revision that the newest plan of this process was made for, and the pipelines of its files. Without a plan, none. */
export interface LastPlanned {
  revision?: string;
  pipelines: readonly DesiredPipeline[];
}

/** A plan, and the pipelines that were suspended at the moment for which it was made. */
export interface MadePlan {
  plan: Plan;
  /** What it was made for: where planning fails on a pipeline, its file is refused. */
  desired: DesiredState;
  /** What is wished of each pipeline: by its file, and by an operator who stopped it. */
  pipelines: DesiredPipeline[];
  suspended: ReadonlySet<string>;
  /** What is not read of the revision, as it is remembered where its source is followed. */
  notRead: NotRead;
  /** What of it is carried out while everything is suspended; absent where nothing is. */
  whileSuspended?: Plan;
  /** Another source than before, which waits for an approval. */
  sourceChange?: SourceChange;
}

/** Milliseconds that loading a revision for a preview may take. */
const loadTimeout = 60_000;

/** Takes a snapshot of all that a plan depends on, and makes the plan. */
export class Planner {
  readonly #dependencies: PlannerDependencies;
  /** Of the last plan: whoever asks what runs makes nobody read secrets. */
  #stale: readonly StaleSecrets[] = [];

  constructor(dependencies: PlannerDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * A turn. A pinned commit needs no approval: who pinned it has seen its plan. Another commit does, also where a pin was
   * set after that was fetched.
   */
  async make(revision: Revision, desired: DesiredState): Promise<MadePlan> {
    const { holds, approve, inventory, operations } = this.#dependencies;
    await holds.move(() => movesMade(this.#seen(), desired));
    const isNeeded = approve !== undefined && holds.state.pin?.commit !== revision.sha;
    if (!isNeeded) return this.#make(revision, desired, undefined);
    const approved = (id: string): string[] => approvalsFor(revision, inventory.state.pipelines[id]?.revision);
    return this.#make(revision, desired, { from: approve, approved, before: () => operations.appliedBefore });
  }

  async #make(revision: Revision, read: DesiredState, approval: ApprovalRule | undefined): Promise<MadePlan> {
    const { engine, inventory, limit } = this.#dependencies;
    this.#stale = await engine.staleSecrets();
    // A folder that is still copied removes nothing, so it removes nothing beyond the limit either.
    const budget = revision.settling === undefined && { budget: { ...inventory.deletionsOf(revision.id), limit } };
    const actual: ActualState = { ...this.#seen(), ...budget };
    const { made, desired } = withoutFaulty(read, (some) =>
      this.#planned(revision, some, withMoves(actual, some), approval),
    );
    return { ...made, desired };
  }

  #planned(
    revision: Revision,
    desired: DesiredState,
    actual: ActualState,
    approval: ApprovalRule | undefined,
  ): Omit<MadePlan, "desired"> {
    const { source, inventory, holds } = this.#dependencies;
    const { skipped, settling } = revision;
    const notRead = notReadOf(
      { before: inventory.state.not_read ?? {}, skipped, ignored: desired.ignored ?? [] },
      actual,
      desired,
    );
    const unread = [...unreadFiles(skipped, notRead), ...claimedButIgnored(desired, inventory.state.pipelines)];
    const wanted = { ...desired, skipped: unread };
    const { plan, pipelines } = planWithHolds(actual, wanted, holds.state);
    const held = plan.changes.filter((one) => holds.of(suspendedId(holds.state, one)) !== undefined);
    const suspended = new Set(held.map(({ pipeline_id }) => pipeline_id));
    const to = followedSource(source.description, revision);
    const change = sourceChange(plan, [actual, wanted], inventory.state.source, to);
    const decided = (): Plan => {
      const settled = settling === undefined ? plan : withSettling(plan, actual, desired.pipelines, settling);
      return approval === undefined ? settled : withApprovals(settled, actual, desired.pipelines, approval);
    };
    const left = change === undefined ? decided() : withoutChanges(plan, change);
    const made = withStopsOver(left, actual, pipelines, holds.state);
    const few = whileSuspended(made, actual);
    return {
      plan: made,
      pipelines,
      suspended,
      // Who approves another source has seen what it lacks.
      notRead: change === undefined ? notRead : withoutSuspicion(notRead),
      ...(few !== undefined && { whileSuspended: few }),
      ...(change !== undefined && { sourceChange: change }),
    };
  }

  /** What is desired of all that was read: files of other tools are left out, unless they held a pipeline before. */
  desiredOf(read: DesiredState): DesiredState {
    return withClaimed(read, this.#dependencies.inventory.state.pipelines);
  }

  /** What a plan would depend on at this moment. */
  live({ revision: planned, pipelines: described }: LastPlanned): LiveState {
    const { source, inventory, operations, holds, limit, approve } = this.#dependencies;
    const revision = planned ?? inventory.state.last_attempted_revision;
    return liveState(this.#seen(), {
      source: source.description,
      ...(revision !== undefined && { revision }),
      max_deletions: limit,
      ...(approve !== undefined && { approve, before: Object.fromEntries(operations.appliedBefore) }),
      holds: holds.state,
      not_read: inventory.state.not_read ?? {},
      described,
    });
  }

  #seen(): ActualState {
    const { engine, inventory, operations, busy } = this.#dependencies;
    return snapshot(engine, inventory, busy(), operations.interrupted, this.#stale);
  }

  /** The plan for this revision, before a person decides on it. Leaves the cache of the followed files as it is. */
  async preview(revision: Revision): Promise<Plan> {
    const { reader, inventory } = this.#dependencies;
    const unread = unreadPaths(revision, Object.keys(inventory.state.not_read ?? {}));
    const variables = await this.#dependencies.variables();
    const read = await new Loader(reader).load(filesOf(revision), AbortSignal.timeout(loadTimeout), variables, unread);
    return (await this.#make(revision, this.desiredOf(read), undefined)).plan;
  }
}
