import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { TestKafka } from "../support/kafka/test-kafka.ts";
import type { Cost } from "./cost.ts";
import type { Shape } from "./kafka-shape.ts";
import { runProgram } from "./program.ts";

/** Partitions of each topic, which take turns. */
export const partitions = 6;

/** A topic that holds the events of a shape, uncompressed, and a file with the same events, a line each. */
export interface FilledTopic {
  topic: string;
  path: string;
  /** Of all events together, without line ends. */
  bytes: number;
}

/** Fills a new topic, and a file in `folder`. */
export async function fillTopic(kafka: TestKafka, shape: Shape, folder: string): Promise<FilledTopic> {
  const topic = kafka.unique("bench");
  const path = join(folder, `${topic}.ndjson`);
  await kafka.topics.create(topic, { partitions });
  await runProgram("kafka-fill.ts", shape.name, kafka.access.plaintext.join(","), topic, path);
  const { size } = await stat(path);
  return { topic, path, bytes: size - shape.events };
}

/** The floor of reading: kafkajs reads the topic and does nothing. */
export async function kafkajsReading(kafka: TestKafka, shape: Shape, { topic }: FilledTopic): Promise<Cost> {
  const brokers = kafka.access.plaintext.join(",");
  return JSON.parse(await runProgram("kafka-floor.ts", brokers, topic, String(shape.events))) as Cost;
}
