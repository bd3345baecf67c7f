import type { Path } from "../../schemas/index.ts";
import type { AppliedBefore, InventoryEntry, NotRead } from "../actual/inventory.ts";
import type { ActualPipeline, ActualState, DeletionLimit, Interrupted } from "../actual/state.ts";
import type { DesiredPipeline, Directives } from "../desired/desired-state.ts";
import { shown } from "../desired/shown.ts";
import type { SourceDescription } from "../git/revision.ts";
import type { HoldsState } from "../holds/hold.ts";
import type { Level } from "../plan/level.ts";

/**
 * What a plan depends on, of a running reconciler: the answer of `GET /api/v1/actual` (schemas/live-state.schema.json).
 * Holds no secret: one in plain text is hidden, and references stay.
 */
export interface LiveState {
  version: 1;
  /** ISO 8601, UTC. */
  at: string;
  source: SourceDescription;
  /** The one that was attempted last; absent before the first. */
  revision?: string;
  max_deletions: DeletionLimit;
  /** Changes of this level and graver ones wait for an approval in Git; absent where none does. */
  approve?: Level;
  /** What pipelines were as before, the oldest first; absent without `approve`. */
  before?: Readonly<Record<string, readonly AppliedBefore[]>>;
  pipelines: LivePipeline[];
  owned: Readonly<Record<string, InventoryEntry>>;
  /** Pipelines whose change is being carried out. */
  under_way: string[];
  interrupted: Record<string, Interrupted>;
  holds: HoldsState;
  /** What was not read of the last revision; absent in the answers of versions that do not say so. */
  not_read?: NotRead;
}

export interface LivePipeline extends ActualPipeline {
  /** Of its last good file; absent where none describes it. */
  directives?: Directives;
}

/** What is known of a reconciler besides the actual state. */
export interface LiveFacts extends Pick<
  LiveState,
  "source" | "revision" | "max_deletions" | "approve" | "before" | "holds" | "not_read"
> {
  /** The pipelines of its last good files. */
  described: readonly DesiredPipeline[];
}

export function liveState(actual: ActualState, { described, ...facts }: LiveFacts): LiveState {
  const directives = new Map(described.map((one) => [one.pipeline_id, one.directives]));
  return {
    version: 1,
    at: new Date(actual.now).toISOString(),
    ...facts,
    pipelines: [...actual.pipelines.values()].map((one) => hiding(one, directives.get(one.pipeline_id))),
    owned: actual.owned,
    under_way: [...actual.busy.keys()],
    interrupted: Object.fromEntries(actual.interrupted ?? []),
  };
}

function hiding({ config, options, ...rest }: ActualPipeline, directives: Directives | undefined): LivePipeline {
  return { ...rest, ...hidden({ config, options }), ...(directives !== undefined && { directives }) };
}

/** A pipeline of a file, as it is compared with what an API answers: that never holds a secret in plain text. */
export function withHiddenSecrets(desired: DesiredPipeline): DesiredPipeline {
  const { config, options, document } = desired;
  return { ...desired, ...hidden({ config, options }), document: masked(document, []) };
}

function hidden({
  config,
  options,
}: Pick<ActualPipeline, "config" | "options">): Pick<ActualPipeline, "config" | "options"> {
  return { config: masked(config, []), options: masked(options, ["x-sluice"]) };
}

/** Secrets are texts before and after. */
function masked<Value>(value: Value, path: Path): Value {
  return shown(value, path) as Value;
}
