import type { PipelineHealth } from "../../engine/index.ts";

/**
 * Which brokers keep a pipeline from reading by a client quota, and where to look; undefined where none has done so for a
 * considerable part of the last minute. Without figures that would change at each look.
 */
export function throttlingText({ overall_status, source }: PipelineHealth): string | undefined {
  const brokers = source?.throttled_by ?? [];
  if (overall_status !== "Running" || brokers.length === 0) return undefined;
  const names = brokers.map(({ cluster, broker }) => `${broker}${cluster === undefined ? "" : ` (${cluster})`}`);
  const who = names.length === 1 ? `broker ${names[0]} throttles` : `brokers ${names.toSorted().join(", ")} throttle`;
  return (
    `${who} what the pipeline reads, by a client quota (consumer_byte_rate, request_percentage). ` +
    "See kafka-configs.sh --bootstrap-server HOST:PORT --describe --entity-type clients, and --entity-type users, and give it a larger one"
  );
}
