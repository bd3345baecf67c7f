import type { PipelineHealth } from "../../engine/index.ts";

/**
 * Which transaction of a producer keeps a pipeline from reading on, and the way out; undefined where none has been open for
 * longer than a minute. Without figures that would change at each look.
 */
export function openTransactionsText({ overall_status, source }: PipelineHealth): string | undefined {
  const [first, ...others] = source?.open_transactions ?? [];
  if (overall_status !== "Running" || first === undefined) return undefined;
  const { cluster, topic, partition, offset, since } = first;
  const where = `partition ${partition} of topic ${topic}${cluster === undefined ? "" : ` (${cluster})`}`;
  const more =
    others.length === 0
      ? ""
      : `, and others in ${others.length} more ${others.length === 1 ? "partition" : "partitions"}`;
  return (
    `a transaction of a producer has been open in ${where} since ${since}${more}: what comes from offset ${offset} on is not read until it ends. ` +
    `If its producer is gone, find it with kafka-transactions.sh --bootstrap-server HOST:PORT describe-producers --topic ${topic} --partition ${partition}, ` +
    `as the one whose CurrentTransactionStartOffset is ${offset}, and end it with kafka-transactions.sh --bootstrap-server HOST:PORT abort --topic ${topic} --partition ${partition} --start-offset ${offset}`
  );
}
