import { randomUUID } from "node:crypto";
import type { Consumer, Kafka, KafkaMessage } from "kafkajs";

/** A record as it lies in a topic. */
export interface ReadRecord {
  partition: number;
  offset: number;
  key: string | null;
  value: string | null;
  headers: KafkaMessage["headers"];
}

/**
 * All records of a topic up to its present end, by partition and offset; those of aborted transactions are not among
 * them. Compression other than gzip needs a codec that the test has registered.
 */
export async function readTopic(client: Kafka, topic: string): Promise<ReadRecord[]> {
  const admin = client.admin();
  // A group that commits nothing is forgotten by the broker.
  const consumer = client.consumer({ groupId: `read-${randomUUID()}`, maxWaitTimeInMs: 50 });
  try {
    await admin.connect();
    const filled = (await admin.fetchTopicOffsets(topic)).filter(({ low, high }) => low !== high);
    if (filled.length === 0) return [];
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    const records = await readUntil(consumer, new Map(filled.map(({ partition, high }) => [partition, Number(high)])));
    return records.toSorted((a, b) => a.partition - b.partition || a.offset - b.offset);
  } finally {
    await consumer.disconnect();
    await admin.disconnect();
  }
}

/** @param ends of the partitions that hold anything. */
async function readUntil(consumer: Consumer, ends: Map<number, number>): Promise<ReadRecord[]> {
  const records: ReadRecord[] = [];
  const { END_BATCH_PROCESS, CRASH } = consumer.events;
  const finished = new Promise<void>((resolve, reject) => {
    consumer.on(CRASH, ({ payload }) => {
      if (!payload.restart) reject(payload.error);
    });
    // Told of what holds only aborted records as well, which never gets to `eachBatch`.
    consumer.on(END_BATCH_PROCESS, ({ payload: { partition, lastOffset } }) => {
      if (Number(lastOffset) + 1 >= (ends.get(partition) ?? 0)) ends.delete(partition);
      if (ends.size === 0) resolve();
    });
  });
  const eachBatch = async ({ batch }: { batch: { partition: number; messages: KafkaMessage[] } }): Promise<void> => {
    for (const message of batch.messages) records.push(recordOf(batch.partition, message));
  };
  await consumer.run({ autoCommit: false, eachBatch });
  await finished;
  return records;
}

function recordOf(partition: number, { offset, key, value, headers }: KafkaMessage): ReadRecord {
  return { partition, offset: Number(offset), key: textOf(key), value: textOf(value), headers };
}

function textOf(bytes: Buffer | null): string | null {
  return bytes?.toString("utf8") ?? null;
}
