import type { EngineOptions, PipelineConfig } from "../../schemas/pipeline.ts";
import { consumerGroup } from "../core/names.ts";
import { hasConsumerGroup, isPushed } from "../sources/registry.ts";

/** What of a pipeline may change, or not. */
interface Kept {
  config: PipelineConfig;
  options: Pick<EngineOptions, "consumer_group">;
}

/**
 * The first field that may not change (docs/gitops.md, Effect classes), with both values; undefined if none does. The
 * planner refuses such a change earlier; this is the engine's own check. Where the pipeline is moved, its id may change, and
 * the name of its consumer group with it where no file names one.
 */
export function immutableChange(from: Kept, to: Kept, isMove = false): string | undefined {
  // Accepted events of a removed source would stay unread.
  const types = to.config.sources.map(({ type }) => type);
  const gone = from.config.sources.findIndex(({ type }) => !types.includes(type));
  if (gone !== -1) return refusal(`sources[${gone}].type`, from.config.sources[gone]!.type, types.join(", "));
  const isMoved = isMove && from.options.consumer_group === undefined && to.options.consumer_group === undefined;
  const free = new Set([...(isMove ? ["pipeline_id"] : []), ...(isMoved ? ["x-sluice.consumer_group"] : [])]);
  const before = immutableFields(from);
  for (const [field, value] of immutableFields(to)) {
    const old = before.get(field);
    if (old !== undefined && old !== value && !free.has(field)) return refusal(field, old, value);
  }
  return undefined;
}

function refusal(field: string, old: string | number, value: string | number): string {
  return `${field} cannot change after creation: it is ${old}, and the new config has ${value}`;
}

function immutableFields({ config, options }: Kept): Map<string, string | number> {
  const { pipeline_id, resources, transforms } = config;
  const fields = new Map<string, string | number>([["pipeline_id", pipeline_id]]);
  // Rows of a join that are not in the table yet would stay unread.
  fields.set("join.enabled", String(config.join !== undefined));
  // What the former group has committed would be taken for a move by a person.
  if (hasConsumerGroup(config)) fields.set("x-sluice.consumer_group", consumerGroup(pipeline_id, options));
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
