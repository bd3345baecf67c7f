import type { EngineOptions, PipelineConfig, Status } from "../../engine/index.ts";
import type { InventoryEntry } from "./inventory.ts";

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
  /** Dead letters that go with the pipeline when it is deleted. */
  dead_letters: number;
}

/** All that a plan has to know about what is there. */
export interface ActualState {
  pipelines: ReadonlyMap<string, ActualPipeline>;
  /** Pipelines of the inventory: only these may be pruned. */
  owned: Readonly<Record<string, InventoryEntry>>;
  /** Pipelines on which an earlier plan is still at work. */
  busy: ReadonlySet<string>;
}
