import type { PipelineConfig } from "../../schemas/pipeline.ts";
import { isPushed } from "../sources/registry.ts";

/**
 * The first field that may not change (docs/gitops.md, Effect classes), with both values; undefined if none does. The
 * planner refuses such a change earlier; this is the engine's own check.
 */
export function immutableChange(from: PipelineConfig, to: PipelineConfig): string | undefined {
  // Accepted events of a removed source would stay unread.
  const types = to.sources.map(({ type }) => type);
  const gone = from.sources.findIndex(({ type }) => !types.includes(type));
  if (gone !== -1) return refusal(`sources[${gone}].type`, from.sources[gone]!.type, types.join(", "));
  const before = immutableFields(from);
  for (const [field, value] of immutableFields(to)) {
    const old = before.get(field);
    if (old !== undefined && old !== value) return refusal(field, old, value);
  }
  return undefined;
}

function refusal(field: string, old: string | number, value: string | number): string {
  return `${field} cannot change after creation: it is ${old}, and the new config has ${value}`;
}

function immutableFields(config: PipelineConfig): Map<string, string | number> {
  const { pipeline_id, resources, transforms } = config;
  const fields = new Map<string, string | number>([["pipeline_id", pipeline_id]]);
  // Rows of a join that are not in the table yet would stay unread.
  fields.set("join.enabled", String(config.join !== undefined));
  // A pipeline that reads from Kafka has no stream, and so no limits of one.
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
