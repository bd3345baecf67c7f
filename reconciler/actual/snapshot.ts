import { EngineError } from "../../engine/index.ts";
import type { Engine, PipelineHealth, PipelineView, StaleSecrets } from "../../engine/index.ts";
import type { Inventory } from "./inventory.ts";
import type { ActualPipeline, ActualState, Interrupted, JoinFigures, Underway } from "./state.ts";

/** What is read of the engine. */
export type ObservedEngine = Pick<Engine, "list" | "get" | "health">;

/** The engine and the inventory at this moment, as the planner reads them. */
export function snapshot(
  engine: ObservedEngine,
  inventory: Inventory,
  busy: ReadonlyMap<string, Underway>,
  interrupted?: ReadonlyMap<string, Interrupted>,
  stale: readonly StaleSecrets[] = [],
): ActualState {
  const secrets = new Map(stale.map(({ pipeline_id, ...rest }) => [pipeline_id, rest]));
  const pipelines = new Map<string, ActualPipeline>();
  for (const view of engine.list()) {
    const { pipeline_id } = view;
    const health = healthOf(engine, pipeline_id);
    if (health === undefined) continue;
    const own = secrets.get(pipeline_id);
    pipelines.set(pipeline_id, { ...actualPipeline(view, health), ...(own && { secrets: own }) });
  }
  // Its entries are replaced, never altered.
  const owned = Object.assign(Object.create(null) as ActualState["owned"], inventory.state.pipelines);
  return { pipelines, owned, busy, now: Date.now(), ...(interrupted && { interrupted }) };
}

/** One pipeline at this moment; undefined where it does not exist. */
export function presentOf(engine: ObservedEngine, pipeline_id: string): ActualPipeline | undefined {
  const health = healthOf(engine, pipeline_id);
  return health && actualPipeline(engine.get(pipeline_id), health);
}

/** Health of a pipeline; undefined for one that was deleted meanwhile. */
export function healthOf(engine: ObservedEngine, pipeline_id: string): PipelineHealth | undefined {
  try {
    return engine.health(pipeline_id);
  } catch (error) {
    if (error instanceof EngineError && error.code === "PIPELINE_NOT_FOUND") return undefined;
    throw error;
  }
}

function actualPipeline(
  view: PipelineView,
  { stream, pending_batches, dead_letters, source, keys, join, paused, at_least_once, profile_remark }: PipelineHealth,
): ActualPipeline {
  const { pipeline_id, config, options, status, failure, intake } = view;
  return {
    pipeline_id,
    config,
    options,
    status,
    ...(failure !== undefined && { failure }),
    held: stream?.messages ?? "unknown",
    pending_batches,
    dead_letters: dead_letters.total_messages,
    ...(source?.lag !== undefined && { lag: source.lag }),
    ...(source !== undefined && { uncommitted: source.uncommitted }),
    ...(keys !== undefined && { keys: keys.keys }),
    ...(join !== undefined && { join: joinFigures(join) }),
    ...(paused !== undefined && { paused: paused.text }),
    ...(at_least_once !== undefined && { at_least_once }),
    ...(profile_remark !== undefined && { profile_remark }),
    ...(intake === "closed" && { intake }),
  };
}

/** What it buffers is not known before it has run in this process. */
function joinFigures({ left, right, waiting: rows }: NonNullable<PipelineHealth["join"]>): JoinFigures {
  return { rows, ...(left !== undefined && right !== undefined && { events: left.events + right.events }) };
}
