import type { Inventory } from "../actual/inventory.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import { wishOf } from "../desired/wish.ts";
import type { Change } from "../plan/change.ts";

/** Owns the pipeline of a file; `revision` is the one of which it holds everything now. */
export function own(inventory: Inventory, { pipeline_id, file, directives }: DesiredPipeline, revision?: string): void {
  const { prune, suspend } = directives;
  const last = revision ?? inventory.state.pipelines[pipeline_id]?.revision;
  inventory.own(pipeline_id, { file, prune, suspend, ...(last !== undefined && { revision: last }) });
}

/** What a try is about: another one begins its back-off anew. */
export function contentOf({ calls }: Change, desired: DesiredPipeline | undefined): string {
  return `${calls.at(-1)} ${desired === undefined ? "" : wishOf(desired)}`;
}
