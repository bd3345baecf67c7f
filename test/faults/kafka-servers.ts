import { type ReachableClickHouse, startClickHouse } from "../support/clickhouse.ts";
import { KafkaBroker } from "../support/kafka/broker.ts";
import { brokerObstacle } from "../support/kafka/obstacle.ts";
import type { TestKafka } from "../support/kafka/test-kafka.ts";

/** The servers between which a pipeline stands; they live as long as this process. */
export interface KafkaServers {
  kafka: TestKafka;
  /** A cluster of its own, for what reads from two. */
  second?: TestKafka;
  server: ReachableClickHouse;
}

/**
 * Runs `use` between a Kafka and a ClickHouse of its own, and two Kafka clusters where they are asked for. Throws why there can
 * be no Kafka here.
 */
export async function withKafka<T>(
  use: (servers: KafkaServers) => Promise<T>,
  { clusters = 1 }: { clusters?: 1 | 2 } = {},
): Promise<T> {
  const obstacle = await brokerObstacle();
  if (obstacle !== undefined) throw new Error(obstacle);
  const kafka = await KafkaBroker.start();
  try {
    if (clusters === 1) return await withServer({ kafka }, use);
    const second = await KafkaBroker.start();
    try {
      return await withServer({ kafka, second }, use);
    } finally {
      await second.stop();
    }
  } finally {
    await kafka.stop();
  }
}

async function withServer<T>(
  brokers: Omit<KafkaServers, "server">,
  use: (servers: KafkaServers) => Promise<T>,
): Promise<T> {
  const server = await startClickHouse();
  try {
    return await use({ ...brokers, server });
  } finally {
    await server.stop();
  }
}
