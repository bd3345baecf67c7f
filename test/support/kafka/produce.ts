import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type Kafka, type Message, type Producer, type RecordMetadata, CompressionTypes, Partitioners } from "kafkajs";

export interface ProduceOptions {
  /** All go there; without it, the key decides, or the turn. */
  partition?: number;
  /** Others than gzip need a codec that the test has registered. */
  compression?: CompressionTypes;
  /** Writes all in one transaction, and ends it so. */
  transaction?: "commit" | "abort";
  /** -1, the default, for all, 1 for the leader, 0 for none. */
  acks?: number;
}

/** Below the largest batch that a broker takes by default, 1 MB, with room for keys and headers. */
const sendBytes = 512 * 1024;
const sendMessages = 5_000;
const markerLookMs = 20;

/** Writes messages in their order; texts are values. */
export async function produce(
  client: Kafka,
  topic: string,
  messages: Iterable<string | Message>,
  options: ProduceOptions = {},
): Promise<void> {
  const { partition, compression = CompressionTypes.None, transaction, acks = -1 } = options;
  const producer = producerOf(client, transaction !== undefined);
  await producer.connect();
  try {
    const sender = transaction === undefined ? producer : await producer.transaction();
    const written: RecordMetadata[] = [];
    for (const some of portions(messages)) {
      const placed = partition === undefined ? some : some.map((message) => ({ ...message, partition }));
      written.push(...(await sender.send({ topic, messages: placed, compression, acks })));
    }
    if (!("commit" in sender)) return;
    await (transaction === "commit" ? sender.commit() : sender.abort());
    await ended(client, topic, written);
  } finally {
    await producer.disconnect();
  }
}

/** Resolves when a transaction is closed everywhere: the broker answers before it has written the markers. */
async function ended(client: Kafka, topic: string, written: RecordMetadata[]): Promise<void> {
  const admin = client.admin();
  await admin.connect();
  try {
    const isOpen = async (): Promise<boolean> => {
      const stable = await admin.fetchTopicOffsets(topic);
      return written.some(({ partition, baseOffset }) =>
        stable.some((at) => at.partition === partition && Number(at.high) <= Number(baseOffset)),
      );
    };
    while (await isOpen()) await sleep(markerLookMs);
  } finally {
    await admin.disconnect();
  }
}

function producerOf(client: Kafka, isTransactional: boolean): Producer {
  const transactional = { transactionalId: randomUUID(), idempotent: true, maxInFlightRequests: 1 };
  return client.producer({
    createPartitioner: Partitioners.DefaultPartitioner,
    ...(isTransactional && transactional),
  });
}

function* portions(messages: Iterable<string | Message>): Generator<Message[]> {
  let portion: Message[] = [];
  let bytes = 0;
  for (const given of messages) {
    const message = typeof given === "string" ? { value: given } : given;
    const size = Buffer.byteLength(message.value ?? "") + Buffer.byteLength(message.key ?? "");
    if (portion.length === sendMessages || (portion.length > 0 && bytes + size > sendBytes)) {
      yield portion;
      [portion, bytes] = [[], 0];
    }
    portion.push(message);
    bytes += size;
  }
  if (portion.length > 0) yield portion;
}
