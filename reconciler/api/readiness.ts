import type { ReconcileSnapshot } from "../reconciler.ts";

/** Why the process is not ready to be relied upon; empty once it is. */
export function notReady(snapshot: ReconcileSnapshot): string[] {
  return snapshot.lastTurn !== undefined ? [] : ["the first look at the repository has not ended"];
}
