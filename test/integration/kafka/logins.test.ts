/** @module-tag rest */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { Brokers } from "../../../engine/sources/kafka/brokers/brokers.ts";
import { kafkaClient } from "../../../engine/sources/kafka/brokers/connection.ts";
import { defaultKafkaSettings } from "../../../engine/sources/kafka/brokers/settings.ts";
import { keptLog } from "../../support/engine.ts";
import { runTool } from "../../support/java.ts";
import { classPath } from "../../support/kafka/distribution.ts";
import type { TestKafka } from "../../support/kafka/test-kafka.ts";
import { useOwnKafka } from "../../support/kafka/use-kafka.ts";
import { useScenes } from "./kafka-scene.ts";
import { span } from "../../support/span.ts";
import { readiness } from "./readiness.ts";

vi.setConfig({ testTimeout: 120_000 });

/** Milliseconds for which a login holds: less than the ten seconds before its end at which kafkajs logs in again. */
const session = 2_000;

const properties = { "connections.max.reauth.ms": String(session), "sasl.enabled.mechanisms": "SCRAM-SHA-512" };
const kafka = useOwnKafka({ properties });
const inScene = useScenes(kafka);

test("a login that holds for two seconds is renewed in time: the pipeline reads on", () =>
  inScene(async (scene) => {
    const [source] = scene.config().sources;
    const connection_params = scene.kafka.connectionParams("SASL_PLAINTEXT", "SCRAM-SHA-512");
    await scene.create(scene.config({}, { sources: [{ ...source, connection_params }] }));
    await scene.reads(3);
    for (const id of span(1, 12)) {
      await scene.produce(id, id);
      await scene.holds(span(1, id));
      await sleep(session / 4);
    }
    await scene.until(({ source: health }) => health?.uncommitted === 0);
    const { lines } = scene.running.log;
    expect(lines.filter(({ level }) => level === "warn" || level === "error")).toEqual([]);
  }));

test.each(["PLAIN", "SCRAM-SHA-256"] as const)(
  "the mechanism %s, which a listener does not take, is refused with those that it takes",
  async (mechanism) => {
    expect(await readiness(kafka(), kafka().connectionParams("SASL_SSL", mechanism))).toEqual({
      kind: "refused",
      text: "Kafka: The broker does not support the requested SASL mechanism (UNSUPPORTED_SASL_MECHANISM): the listener takes SCRAM-SHA-512: set mechanism to one that it takes",
    });
  },
);

test("where a password was changed at the broker, the failure says that the login is refused", async () => {
  const topic = kafka().unique("orders");
  await kafka().topics.create(topic);
  const connection = kafka().connectionParams("SASL_PLAINTEXT", "SCRAM-SHA-512");
  const brokers = new Brokers(kafkaClient(connection as never, "test", keptLog()), defaultKafkaSettings);
  await brokers.connect();
  await brokers.topicIds([topic]);
  await setPassword(kafka(), connection.username!, "another-password");
  await expect(refused(() => brokers.topicIds([topic]))).rejects.toThrow(
    /SASL SCRAM SHA512 authentication failed: .*invalid credentials/,
  );
  await brokers.close();
});

/** Asks until the login of before has ended, or the broker has heard of the new password, and fails as the asking does. */
async function refused(ask: () => Promise<unknown>): Promise<never> {
  for (;;) {
    await ask();
    await sleep(session / 4);
  }
}

async function setPassword({ access }: TestKafka, user: string, password: string): Promise<void> {
  const change = ["--alter", "--add-config", `SCRAM-SHA-512=[password=${password}]`];
  const args = ["--bootstrap-server", access.plaintext[0]!, ...change, "--entity-type", "users", "--entity-name", user];
  await runTool({
    classPath: await classPath(),
    main: "kafka.admin.ConfigCommand",
    args,
    heapMegabytes: 128,
    flags: [],
  });
}
