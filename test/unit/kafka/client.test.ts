import { beforeAll, describe } from "vitest";
import { Brokers } from "../../../engine/sources/kafka/brokers/brokers.ts";
import { kafkaClient } from "../../../engine/sources/kafka/brokers/connection.ts";
import { defaultKafkaSettings } from "../../../engine/sources/kafka/brokers/settings.ts";
import { Codecs } from "../../../engine/sources/kafka/protocol/codecs.ts";
import { keptLog } from "../../support/engine.ts";
import { describesClient } from "../../support/kafka/client-suite.ts";
import { KafkaWorld, topic } from "../simulation/kafka-world.ts";

// What is loaded from files is loaded before time is simulated.
beforeAll(async () => {
  await Codecs.load();
});

describe("the client of a simulated cluster", () => {
  describesClient(async (tried) => {
    const world = new KafkaWorld(1, { topics: { [topic]: 2 }, brokers: 2 });
    const { kafka } = world;
    const connection = kafkaClient(kafka.connection, "tried", keptLog(), kafka.socketFactory);
    const client = new Brokers(connection, defaultKafkaSettings);
    const produce = async (partition: number, values: string[]): Promise<void> => {
      kafka.produce(topic, partition, values);
    };
    try {
      await tried({ client, topic, produce, settled: (promise) => world.settled(promise) });
    } finally {
      await world.settled(client.close());
      world.end();
    }
  });
});
