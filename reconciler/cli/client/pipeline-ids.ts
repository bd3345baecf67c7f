import type { PipelineRecord } from "../../api/routes.ts";
import { ControlClient } from "../control/client.ts";

/** Milliseconds that a person who pressed Tab waits, and ids that are shown. */
const [patience, most] = [500, 1_000];

/** The ids of the pipelines, for completion; none where the daemon does not answer in time. */
export async function pipelineIds(dataDir: string): Promise<string[]> {
  const daemon = new ControlClient(dataDir, AbortSignal.timeout(patience));
  try {
    const records = (await daemon.get("/api/v1/pipeline")) as PipelineRecord[];
    // A shell reads them: only what a pipeline_id may be is passed on.
    return records
      .map(({ pipeline_id }) => pipeline_id)
      .filter(isId)
      .slice(0, most);
  } catch {
    return [];
  }
}

function isId(id: unknown): id is string {
  return typeof id === "string" && /^[a-z0-9][a-z0-9-]{0,62}$/.test(id);
}
