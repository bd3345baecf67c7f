import { afterEach, describe, expect, test } from "vitest";
import type { KafkaSourceConfig } from "../../schemas/pipeline.ts";
import { TargetPolicy, type TargetRules } from "../../engine/peers/targets.ts";
import { Brokers } from "../../engine/sources/kafka/brokers/brokers.ts";
import { kafkaClient } from "../../engine/sources/kafka/brokers/connection.ts";
import { failureText, hidingFrom, needsOperator } from "../../engine/sources/kafka/brokers/failures.ts";
import { defaultKafkaSettings } from "../../engine/sources/kafka/brokers/settings.ts";
import { socketsWithin } from "../../engine/sources/kafka/brokers/sockets.ts";
import { checkSource } from "../../engine/sources/open.ts";
import type { Readiness } from "../../engine/core/readiness.ts";
import { kafkaPipeline } from "../support/pipelines.ts";
import { systemDisk } from "../../engine/system/disk.ts";
import { echoed, partsOf } from "./echoes.ts";
import { type HostileBroker, hostileBroker } from "./hostile-broker.ts";

/** Brokers say where other brokers are, and why a login fails: neither leads Sluice elsewhere nor shows a secret. */

const brokers: HostileBroker[] = [];
afterEach(() => {
  for (const made of brokers.splice(0)) made.close();
});

async function broker(...hostility: Parameters<typeof hostileBroker>): Promise<HostileBroker> {
  const made = await hostileBroker(...hostility);
  brokers.push(made);
  return made;
}

interface Logged {
  level: string;
  fields: Record<string, unknown>;
}

/** Whether a topic of these brokers can be read, and what was logged meanwhile. */
async function asked(
  addresses: string[],
  targets: TargetRules,
  login: Partial<KafkaSourceConfig["connection_params"]> = {},
): Promise<{ readiness: Readiness; logged: Logged[] }> {
  const logged: Logged[] = [];
  const at = (level: string) => (fields: Record<string, unknown>) => void logged.push({ level, fields });
  const log = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  const connection_params = { brokers: addresses, protocol: "PLAINTEXT", mechanism: "NO_AUTH", ...login };
  const config = kafkaPipeline("p", { topic: "t", connection_params });
  const kafka = { dataDir: "d", run: "r", earlier: [], settings: defaultKafkaSettings };
  const tools = { log, disk: systemDisk };
  const readiness = await checkSource({ config, kafka, targets }, tools, AbortSignal.timeout(20_000));
  return { readiness, logged };
}

test("a broker of the file that is not allowed gets no connection", async () => {
  const { address, port, connections } = await broker();
  const { readiness } = await asked([address], { allowed: ["kafka.example.com"] });
  expect(readiness).toEqual({
    kind: "refused",
    text: `Kafka: Connection error: host 127.0.0.1 is not in targets: an operator allows it by adding 127.0.0.1:${port} to targets in sluice.yaml (TARGET_NOT_ALLOWED)`,
  });
  expect(connections()).toBe(0);
});

test.each([
  ["127.0.0.1", "is not in targets"],
  ["localhost", "is not in targets"],
  ["2130706433", "expected a host name or an address"],
  ["127.0.0.1\0.kafka.example.com", "expected a host name or an address"],
  ["::ffff:127.0.0.1", "is not in targets"],
])("nor does one that the metadata of an allowed broker advertises as %j", async (host, reason) => {
  const inner = await broker();
  const { address, port } = await broker({ advertised: [{ host, port: inner.port }] });
  const targets = { allowed: [`127.0.0.1:${port}`, "*.kafka.example.com"] };
  const connection = { brokers: [address], protocol: "PLAINTEXT", mechanism: "NO_AUTH" } as const;
  const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
  const client = kafkaClient(connection as never, "test", log, socketsWithin(new TargetPolicy(targets)));
  const reading = new Brokers(client, defaultKafkaSettings);
  await reading.connect();
  const failure: unknown = await reading.topicIds(["t"]).catch((error: unknown) => error);
  expect(failureText(failure, hidingFrom(connection as never))).toContain(reason);
  expect(needsOperator(failure)).toBe(true);
  expect(inner.connections()).toBe(0);
  await reading.close().catch(() => undefined);
});

describe("a password that a broker sends back", () => {
  const [username, password] = ["ada", "correct/horse+battery staple"];
  const login = { mechanism: "PLAIN", protocol: "SASL_PLAINTEXT", username, password } as never;

  test("as the reason of a refused login is shown nowhere", async () => {
    const { address } = await broker({ refusal: (got) => `${JSON.stringify(got)} ${echoed(username, password, 4)}` });
    const { readiness, logged } = await asked([address], {}, login);
    expect(readiness).toMatchObject({ kind: "refused", text: expect.stringContaining("***") as string });
    const shown = JSON.stringify([readiness, logged]);
    for (const part of partsOf(username, password)) expect(shown).not.toContain(part);
    expect(readiness.kind === "ready" ? "" : readiness.text).toMatch(/^.{20,700}$/);
  });

  test("as the name of another broker is shown nowhere", async () => {
    const host = `${Buffer.from(password).toString("hex")}.invalid`;
    const { address } = await broker({ advertised: [{ host, port: 9092 }] });
    const { readiness, logged } = await asked([address], {}, login);
    const shown = JSON.stringify([readiness, logged]);
    for (const part of partsOf(username, password)) expect(shown).not.toContain(part);
  });
});
