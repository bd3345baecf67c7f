import type { Inventory } from "../actual/inventory.ts";
import type { Plan } from "../plan/change.ts";

/**
 * Notes the deletions that this plan begins, before they are: they count against what their revision may delete, also
 * after a crash, and are carried to their end whatever later revisions remove.
 */
export function noteDeletions(inventory: Inventory, { changes }: Plan, revision: string): void {
  const deletions = inventory.deletionsOf(revision);
  let begun = 0;
  for (const { pipeline_id, kind, calls } of changes) {
    const entry = inventory.state.pipelines[pipeline_id];
    if (kind !== "delete" || calls.length === 0 || entry === undefined) continue;
    // What its file had terminated takes a single call.
    const isAllowed = entry.ending === true || (entry.terminated === true && calls.length === 1);
    if (!isAllowed) begun += 1;
    inventory.own(pipeline_id, { ...entry, changing: true, ending: true });
  }
  const isOver = changes.some(({ cause }) => cause === "DeletionBudget");
  if (begun > 0 || isOver) inventory.deletions({ ...deletions, begun: deletions.begun + begun });
}
