import type { PipelineConfig } from "../../schemas/pipeline.ts";
import { EngineError } from "../core/errors.ts";
import { obstacleOf } from "../sources/registry.ts";

/**
 * Throws NOT_SUPPORTED for sources that this version has no line for. Files say the same long before; this is the
 * engine's own guard.
 */
export function checkSources({ pipeline_id, sources, join }: PipelineConfig): void {
  const found = obstacleOf(sources) ?? (join === undefined ? undefined : "no join, which this version has no part for");
  if (found !== undefined) throw new EngineError("NOT_SUPPORTED", `pipeline ${pipeline_id}: expected ${found}`);
}
