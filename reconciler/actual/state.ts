import type { EngineOptions, PipelineConfig, StaleSecrets, Status } from "../../engine/index.ts";
import type { WishedState } from "../desired/desired-state.ts";
import type { Deletions, InventoryEntry } from "./inventory.ts";

/** A pipeline as the engine holds it at the moment of planning. */
export interface ActualPipeline {
  pipeline_id: string;
  config: PipelineConfig;
  options: EngineOptions;
  status: Status;
  /** Why it is `Failed`. */
  failure?: string;
  /** Events that were accepted and are not yet written. */
  held: number;
  /** Batches that are prepared and not yet committed. Their events count as held. */
  pending_batches: number;
  dead_letters: number;
  /** Offsets of its topic that it has not settled yet; absent where it reads from no topic, or has not begun to. */
  lag?: number;
  /** Offsets that are settled and that its consumer group does not know of; absent where nobody knows, as with `lag`. */
  unsaid?: number;
  /** Keys that dedup remembers; absent without dedup, or where it has not begun to. */
  keys?: number;
  /** Why it waits, where it does. */
  paused?: string;
  /** It refuses new events: its end has begun. */
  intake?: "closed";
  /** Secrets that are no longer what it runs with. Absent where all are. */
  secrets?: Omit<StaleSecrets, "pipeline_id">;
}

/** A change that is being carried out at the moment of planning. */
export interface Underway {
  /** What the file asked for (`wishOf`); absent for a deletion. */
  wish?: string;
  /** It waits for a stop to end. Until then another change may take its place. */
  isStopping: boolean;
  /** The stop is the first step to its end, and no event comes in any more. */
  isEnding?: true;
}

/** A change that was begun and has not come to its end, and on which nobody is at work. */
export interface Interrupted {
  /** The revision that asked for it. */
  revision: string;
  /** The pipeline ran before and was stopped on the way to something else: it is not to stay so. */
  isOwed: boolean;
  /** Of a recreation: the state of what it makes, or that this is not known any more. */
  successor?: WishedState | "lost";
}

/** All that a plan has to know about what is there. */
export interface ActualState {
  pipelines: ReadonlyMap<string, ActualPipeline>;
  /** Pipelines of the inventory: only these may be pruned. */
  owned: Readonly<Record<string, InventoryEntry>>;
  /** Pipelines on which an earlier plan is still at work. */
  busy: ReadonlyMap<string, Underway>;
  /** Milliseconds since the epoch; decides when a drift is put back once more. */
  now: number;
  /** What the revision that is planned may delete; absent for no limit. */
  budget?: DeletionBudget;
  /** What earlier plans have begun, by pipeline_id. Absent where nothing was. */
  interrupted?: ReadonlyMap<string, Interrupted>;
}

/** How many pipelines one revision may delete: the greater of a number and of a share of all that are owned. */
export interface DeletionLimit {
  count: number;
  /** Percent, 0 to 100. */
  share: number;
}

/** The deletions of a revision so far, and how many there may be. */
export interface DeletionBudget extends Omit<Deletions, "revision"> {
  limit: DeletionLimit;
}
