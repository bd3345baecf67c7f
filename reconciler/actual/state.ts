import type { EngineOptions, PipelineConfig, StaleSecrets, Status } from "../../engine/index.ts";
import type { WishedState } from "../desired/desired-state.ts";
import type { Deletions, InventoryEntry } from "./inventory.ts";

/** A pipeline as the engine holds it at the moment of planning. */
export interface ActualPipeline {
  pipeline_id: string;
  /** The id that the engine has it by, where its file gives it another one. */
  moved_from?: string;
  config: PipelineConfig;
  options: EngineOptions;
  status: Status;
  /** Why it is `Failed`. */
  failure?: string;
  /** Events that were accepted and are not yet written; `unknown` while its stream cannot be opened. */
  held: number | "unknown";
  /** Batches that are prepared and not yet committed. Their events count as held. */
  pending_batches: number;
  dead_letters: number;
  /** Offsets of its topic that it has not settled yet; absent where it reads from no topic, or has not begun to. */
  lag?: number;
  /** Settled offsets that are not committed to its consumer group yet; absent where that is unknown, as with `lag`. */
  uncommitted?: number;
  /** Keys that dedup remembers; absent without dedup, or where it has not begun to. */
  keys?: number;
  /** What its join holds; absent without a join, or where that is not known. */
  join?: JoinFigures;
  /** Why it is paused, where it is. */
  paused?: string;
  /** Why its target cannot drop a repeated insert; absent if it can. */
  at_least_once?: string;
  /** Settings of its target's user that may change rows; absent for none. */
  profile_remark?: string;
  /** It refuses new events, because its deletion has begun. */
  intake?: "closed";
  /** Secrets whose value has changed or is missing since it started. Absent where there are none. */
  secrets?: Omit<StaleSecrets, "pipeline_id">;
}

/** What a join holds at the moment of planning. */
export interface JoinFigures {
  /** Events that it buffers, of both sides; absent where that is not known. */
  events?: number;
  /** Rows that it has made and that are not in the table. */
  rows: number;
}

/** A change that is being carried out at the moment of planning. */
export interface Underway {
  /** What the file asked for (`wishOf`); absent for a deletion. */
  wish?: string;
  /** It waits for a stop to end. Until then another change may replace it. */
  isStopping: boolean;
  /** The stop is the first step of a deletion: the pipeline refuses new events. */
  isEnding?: true;
}

/** A change that was begun and not completed, and that is not being carried out at this moment. */
export interface Interrupted {
  /** The revision that asked for it. */
  revision: string;
  /** The pipeline ran before and was stopped only as a step of the change: it must not stay stopped. */
  isOwed: boolean;
  /** For a recreation: the wished state of the new pipeline, or `lost` where its config is no longer known. */
  successor?: WishedState | "lost";
  /** For a recreation or a move: the fingerprint of what its file asked for. Absent where its config is no longer known. */
  asks?: string;
}

/** The actual state, as far as a plan depends on it. */
export interface ActualState {
  pipelines: ReadonlyMap<string, ActualPipeline>;
  /** Pipelines of the inventory: only these may be pruned. */
  owned: Readonly<Record<string, InventoryEntry>>;
  /** Pipelines whose change of an earlier plan is still being carried out. */
  busy: ReadonlyMap<string, Underway>;
  /** Milliseconds since the epoch; decides when a drift is corrected again. */
  now: number;
  /** How many pipelines this revision may delete; absent for no limit. */
  budget?: DeletionBudget;
  /** Interrupted changes of earlier plans, by pipeline_id. Absent where there are none. */
  interrupted?: ReadonlyMap<string, Interrupted>;
  /** Files that would move a pipeline and cannot, by pipeline_id. Absent where there are none. */
  unmoved?: ReadonlyMap<string, MoveObstacle>;
}

/** Why a file cannot move a pipeline to its pipeline_id. */
export type MoveObstacle = { from: readonly string[] } &
  /** A pipeline with the id of the file is there already. */
  (
    | { is: "taken" }
    /** More than one of its former ids is there. */
    | { is: "several" }
    /** Another file gives the pipeline back an id that it had, too. */
    | { is: "contested" }
    /** A file that cannot be used may describe it. */
    | { is: "described"; file: string }
    /** A field changes as well that only a recreation changes. */
    | { is: "recreated"; path: string }
  );

/** How many pipelines one revision may delete: by a number and a share of all that are owned. */
export interface DeletionLimit {
  count: number;
  /** Percent, 0 to 100. */
  share: number;
  /**
   * Which of both counts where both are given; absent for the greater. A folder without Git has the lesser, and at least
   * 1: nobody reviewed its changes, and nothing brings them back.
   */
  both?: "lesser";
}

/** The deletions of a revision so far, and how many there may be. */
export interface DeletionBudget extends Omit<Deletions, "revision"> {
  limit: DeletionLimit;
}
