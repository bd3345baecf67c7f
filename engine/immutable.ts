import type { PipelineConfig } from "../schemas/pipeline.ts";
import { isPushed } from "./pushed.ts";

/**
 * The first field that may not change (the specification, config v3, section 7.1), with both values; undefined if none
 * does. The planner refuses such a change long before; this is the engine's own guard.
 */
export function immutableChange(from: PipelineConfig, to: PipelineConfig): string | undefined {
  const before = immutableFields(from);
  for (const [field, value] of immutableFields(to)) {
    const old = before.get(field);
    if (old !== undefined && old !== value) {
      return `${field} cannot change after creation: it is ${String(old)}, and ${String(value)} was asked for`;
    }
  }
  return undefined;
}

function immutableFields(config: PipelineConfig): Map<string, string | number> {
  const { pipeline_id, resources, transforms } = config;
  const fields = new Map<string, string | number>([["pipeline_id", pipeline_id]]);
  // Accepted events of another kind of source would be left behind.
  const [source] = config.sources;
  if (source !== undefined) fields.set("sources[0].type", source.type);
  // A pipeline that reads from Kafka has no stream whose limits could be other than they were.
  for (const [name, limit] of isPushed(config) ? Object.entries(resources.nats.stream) : []) {
    fields.set(`resources.nats.stream.${name}`, limit);
  }
  const withDedup = new Set(transforms.filter(({ type }) => type === "dedup").map(({ source_id }) => source_id));
  for (const { source_id, storage, replicas } of resources.transform) {
    if (storage !== undefined) fields.set(`resources.transform (${source_id}).storage.size`, storage.size);
    if (withDedup.has(source_id)) fields.set(`resources.transform (${source_id}).replicas`, replicas);
  }
  return fields;
}
