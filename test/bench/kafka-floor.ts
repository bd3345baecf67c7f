import { randomUUID } from "node:crypto";
import { Kafka, logLevel } from "kafkajs";

/** A program of its own, the floor of the Kafka benchmark: kafkajs reads a topic and does nothing. Says its Cost as JSON. */
const [, , brokers = "", topic = "", events] = process.argv;

const client = new Kafka({ clientId: "floor", brokers: brokers.split(","), logLevel: logLevel.NOTHING });
const consumer = client.consumer({ groupId: `floor-${randomUUID()}`, maxBytesPerPartition: 262_144 });
await consumer.connect();
await consumer.subscribe({ topic, fromBeginning: true });
const started = performance.now();
const before = process.cpuUsage();
await new Promise<void>((resolve, reject) => {
  let left = Number(events);
  const eachBatch = ({ batch }: { batch: { messages: unknown[] } }): Promise<void> => {
    left -= batch.messages.length;
    if (left === 0) resolve();
    return Promise.resolve();
  };
  consumer.run({ autoCommit: false, eachBatch }).catch(reject);
});
const { user, system } = process.cpuUsage(before);
console.log(JSON.stringify({ seconds: (performance.now() - started) / 1000, cpu: (user + system) / 1e6 }));
await consumer.disconnect();
