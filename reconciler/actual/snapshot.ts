import { EngineError } from "../../engine/index.ts";
import type { Engine, PipelineHealth, PipelineView } from "../../engine/index.ts";
import type { Inventory } from "./inventory.ts";
import type { ActualPipeline, ActualState } from "./state.ts";

/** What is read of the engine. */
export type ObservedEngine = Pick<Engine, "list" | "health">;

/** The engine and the inventory at this moment, as the planner wants them. */
export function snapshot(engine: ObservedEngine, inventory: Inventory, busy: ReadonlySet<string>): ActualState {
  const pipelines = engine.list().flatMap((view) => {
    const health = healthOf(engine, view.pipeline_id);
    return health === undefined ? [] : [actualPipeline(view, health)];
  });
  const owned = structuredClone(inventory.state.pipelines);
  return { pipelines: new Map(pipelines.map((one) => [one.pipeline_id, one])), owned, busy: new Set(busy) };
}

/** Health of a pipeline; undefined for one that is gone by now. */
export function healthOf(engine: ObservedEngine, pipeline_id: string): PipelineHealth | undefined {
  try {
    return engine.health(pipeline_id);
  } catch (error) {
    if (error instanceof EngineError && error.code === "PIPELINE_NOT_FOUND") return undefined;
    throw error;
  }
}

function actualPipeline(view: PipelineView, health: PipelineHealth): ActualPipeline {
  const { pipeline_id, config, options, status, failure } = view;
  const held = health.stream.messages;
  const dead_letters = health.dead_letters.total_messages;
  return { pipeline_id, config, options, status, held, dead_letters, ...(failure !== undefined && { failure }) };
}
