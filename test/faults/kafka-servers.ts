import { type ReachableClickHouse, startClickHouse } from "../support/clickhouse.ts";
import { KafkaBroker } from "../support/kafka/broker.ts";
import { brokerObstacle } from "../support/kafka/obstacle.ts";
import type { TestKafka } from "../support/kafka/test-kafka.ts";

/** The servers between which a pipeline stands; they live as long as this process. */
export interface KafkaServers {
  kafka: TestKafka;
  server: ReachableClickHouse;
}

/** Runs `use` between a Kafka and a ClickHouse of its own. Throws why there can be no Kafka here. */
export async function withKafka<T>(use: (servers: KafkaServers) => Promise<T>): Promise<T> {
  const obstacle = await brokerObstacle();
  if (obstacle !== undefined) throw new Error(obstacle);
  const kafka = await KafkaBroker.start();
  try {
    const server = await startClickHouse();
    try {
      return await use({ kafka, server });
    } finally {
      await server.stop();
    }
  } finally {
    await kafka.stop();
  }
}
