import type { lookup } from "node:dns";
import { expect, test } from "vitest";
import { TargetPolicy } from "../../../engine/peers/targets.ts";
import { Brokers } from "../../../engine/sources/kafka/brokers/brokers.ts";
import { kafkaClient } from "../../../engine/sources/kafka/brokers/connection.ts";
import { defaultKafkaSettings } from "../../../engine/sources/kafka/brokers/settings.ts";
import { socketsWithin } from "../../../engine/sources/kafka/brokers/sockets.ts";
import { keptLog } from "../../support/engine.ts";

const plain = { protocol: "PLAINTEXT", mechanism: "NO_AUTH", skip_tls_verification: false } as const;

test.each<[string, unknown, string]>([
  ["an error", new Error("the login with pa55word failed"), "the login with *** failed"],
  ["nothing", undefined, "undefined"],
  ["an object without a text", Object.create(null), "a value without a text"],
])("kafkajs may log %s in place of a text", (_title, value, reason) => {
  const log = keptLog();
  const client = kafkaClient({ ...plain, brokers: ["127.0.0.1:1"], password: "pa55word" }, "test", log);
  client.logger().error(value as string);
  expect(log.lines).toEqual([{ level: "debug", fields: { client: "test", reason }, sentence: "Kafka client." }]);
});

test("where no address of a name can be connected to, the failure says why", async () => {
  const found = ["127.0.0.1", "127.0.0.2"].map((address) => ({ address, family: 4 }));
  const resolve = ((_name: string, _options: object, done: (error: null, all: typeof found) => void) =>
    done(null, found)) as unknown as typeof lookup;
  const sockets = socketsWithin(new TargetPolicy({}, resolve));
  const client = kafkaClient({ ...plain, brokers: ["kafka.example:1"] }, "test", keptLog(), sockets);
  const brokers = new Brokers(client, defaultKafkaSettings);
  await expect(brokers.connect()).rejects.toThrow(
    "Connection error: connect ECONNREFUSED 127.0.0.1:1; connect ECONNREFUSED 127.0.0.2:1",
  );
  await brokers.close();
});
