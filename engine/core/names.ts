import { createHash } from "node:crypto";
import type { EngineOptions } from "../../schemas/pipeline.ts";

/**
 * The first 8 hex digits of SHA-256 of the id, which identify a pipeline in names (docs/sources/kafka.md, The consumer
 * group).
 */
function shortHash(pipeline_id: string): string {
  return createHash("sha256").update(pipeline_id).digest("hex").slice(0, 8);
}

/** The consumer group of a pipeline: it depends on the id alone where its options do not name one. */
export function consumerGroup(
  pipeline_id: string,
  { consumer_group }: Pick<EngineOptions, "consumer_group"> = {},
): string {
  return consumer_group ?? `sluice-consumer-group-${shortHash(pipeline_id)}`;
}

/** The name of a pipeline's dead-letter queue, in logs. */
export function deadLetterStream(pipeline_id: string): string {
  return `gfm-${shortHash(pipeline_id)}-DLQ`;
}
