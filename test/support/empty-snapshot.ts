import type { ReconcileSnapshot } from "../../reconciler/status/status.ts";

/** What a reconciler says that follows a folder without files. */
export const emptySnapshot: ReconcileSnapshot = {
  source: { kind: "dir", url: "/", path: "." },
  conditions: [],
  pipelines: [],
  problems: [],
  skipped: [],
  history: [],
};
