import type { InventoryEntry } from "../actual/inventory.ts";
import type { ActualPipeline, ActualState, DeletionLimit } from "../actual/state.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import { hasConsumerGroup } from "../../engine/language.ts";

/**
 * The actual state as if these files were applied, and everything ran as they say: nothing is held, and all that
 * is settled is committed. What a topic holds that is not read yet, and what a server holds besides is not known here.
 */
export function assumedState(pipelines: readonly DesiredPipeline[], limit: DeletionLimit): ActualState {
  const owned = Object.create(null) as Record<string, InventoryEntry>;
  for (const one of pipelines) owned[one.pipeline_id] = entryOf(one);
  return {
    pipelines: new Map(pipelines.map((one) => [one.pipeline_id, assumed(one)])),
    owned,
    busy: new Map(),
    now: 0,
    budget: { limit, begun: 0, of: pipelines.length },
  };
}

function assumed({ pipeline_id, config, options, directives: { state } }: DesiredPipeline): ActualPipeline {
  const nothing = { held: 0, pending_batches: 0, dead_letters: 0 };
  const position = hasConsumerGroup(config) ? { uncommitted: 0 } : {};
  const join = config.join === undefined ? {} : { join: { rows: 0 } };
  return { pipeline_id, config, options, status: state, ...nothing, ...position, ...join };
}

/** Without fingerprints: every difference comes from the files, and none is a drift. */
function entryOf({ file, directives: { prune, suspend, state, moved_from } }: DesiredPipeline): InventoryEntry {
  return {
    file,
    prune,
    suspend,
    ...(state === "Terminated" && { terminated: true }),
    ...(moved_from.length > 0 && { moved_from: [...moved_from] }),
  };
}
