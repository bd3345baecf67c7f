import type { PipelineView } from "../../engine/index.ts";
import type { PipelineConfig } from "../../schemas/index.ts";

export type TransformationType = "Ingest Only" | "Deduplication" | "Join" | "Join & Deduplication";

/** One entry of the list of pipelines (specification: lifecycle and API, section 4.1). */
export interface PipelineRecord {
  pipeline_id: string;
  name: string;
  transformation_type: TransformationType;
  created_at: string;
  updated_at: string;
  status: string;
  metadata: { tags: string[] };
}

export function pipelineRecord(view: PipelineView): PipelineRecord {
  return {
    pipeline_id: view.pipeline_id,
    name: view.config.name,
    transformation_type: transformationType(view.config),
    created_at: view.created_at,
    updated_at: view.updated_at,
    status: view.status,
    metadata: { tags: view.config.metadata.tags },
  };
}

/** Follows join and dedup alone; filters and stateless transforms do not show in it. */
export function transformationType(config: PipelineConfig): TransformationType {
  const dedups = config.transforms.some((transform) => transform.type === "dedup");
  if (config.join !== undefined) return dedups ? "Join & Deduplication" : "Join";
  return dedups ? "Deduplication" : "Ingest Only";
}
