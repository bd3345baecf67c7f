import type { PipelineConfig } from "../schemas/pipeline.ts";

/** Whether events are pushed at a pipeline, and so lie in a stream of its own. */
export function isPushed({ sources }: PipelineConfig): boolean {
  return sources.some(({ type }) => type !== "kafka");
}
