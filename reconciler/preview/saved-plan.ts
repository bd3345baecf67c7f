import { approvalLevelOf } from "../holds/approval.ts";
import type { ChangeKind } from "../plan/change.ts";
import type { Level } from "../plan/level.ts";
import type { Preview } from "./preview.ts";
import type { PlanReport } from "./report.ts";

/**
 * A plan with the fingerprints that it was made from, as `sluice plan --save` writes it. As a file of the folder `approvals` of
 * the repository it approves its changes.
 */
export interface SavedPlan extends Pick<PlanReport, "version" | "environment" | "base" | "head" | "level"> {
  changes: SavedChange[];
}

export interface SavedChange {
  pipeline_id: string;
  kind: ChangeKind;
  /** For its approval: the values of secrets do not count. */
  level: Level;
  /** Its level, and a digest of the pipeline, of what runs and of what its file asks for. */
  approval: string;
}

/** The changes that are carried out; what is refused or left cannot be approved. */
export function savedPlan({ changes }: Preview, { version, base, head, level }: PlanReport): SavedPlan {
  const saved = changes.flatMap(({ change, approval }): SavedChange[] => {
    const { pipeline_id, kind } = change;
    return approval === undefined ? [] : [{ pipeline_id, kind, level: approvalLevelOf(change), approval }];
  });
  return { version, base, head, level, changes: saved };
}
