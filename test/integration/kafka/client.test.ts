import { describe, vi } from "vitest";
import { Brokers } from "../../../engine/sources/kafka/brokers/brokers.ts";
import { kafkaClient } from "../../../engine/sources/kafka/brokers/connection.ts";
import { defaultKafkaSettings } from "../../../engine/sources/kafka/brokers/settings.ts";
import type { KafkaConnection } from "../../../schemas/pipeline.ts";
import { keptLog } from "../../support/engine.ts";
import { describesClient } from "../../support/kafka/client-suite.ts";
import { useKafka } from "../../support/kafka/use-kafka.ts";

vi.setConfig({ testTimeout: 120_000 });

const kafkaOf = useKafka();

describe("the client of a real broker", () => {
  describesClient(async (tried) => {
    const kafka = kafkaOf();
    const topic = kafka.unique("client");
    await kafka.topics.create(topic, { partitions: 2 });
    const connection = {
      ...kafka.connectionParams(),
      mechanism: "NO_AUTH",
      skip_tls_verification: false,
    } as KafkaConnection;
    const client = new Brokers(kafkaClient(connection, "tried", keptLog()), defaultKafkaSettings);
    const produce = (partition: number, values: string[]): Promise<void> =>
      kafka.produce(
        topic,
        values.map((value) => ({ value, partition })),
      );
    try {
      await tried({ client, topic, produce, settled: (promise) => promise });
    } finally {
      await client.close();
      await kafka.topics.delete(topic);
    }
  });
});
