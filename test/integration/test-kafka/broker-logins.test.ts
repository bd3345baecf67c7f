import kafkajs from "kafkajs";
import { expect, test } from "vitest";
import { type ConnectionParams, mechanisms, type Protocol } from "../../support/kafka/access.ts";
import { produce } from "../../support/kafka/produce.ts";
import { readTopic } from "../../support/kafka/read.ts";
import { useKafka } from "../../support/kafka/use-kafka.ts";

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;
const kafka = useKafka({ wantsLogin: true });
const saslProtocols: Protocol[] = ["SASL_PLAINTEXT", "SASL_SSL"];
const doors = [
  ["PLAINTEXT", undefined] as const,
  ["SSL", undefined] as const,
  ...saslProtocols.flatMap((protocol) => mechanisms.map((mechanism) => [protocol, mechanism] as const)),
];

async function newTopic(): Promise<string> {
  const topic = kafka().unique("orders");
  await kafka().topics.create(topic);
  return topic;
}

/** Tries once. */
async function comeIn(params: ConnectionParams): Promise<void> {
  const admin = kafka()
    .client(params, { retry: { retries: 0 } })
    .admin();
  try {
    await admin.connect();
  } finally {
    await admin.disconnect();
  }
}

test.each(doors)("a client comes in by %s %s, writes and reads", async (protocol, mechanism) => {
  const topic = await newTopic();
  const client = kafka().client(kafka().connectionParams(protocol, mechanism));
  await produce(client, topic, [protocol]);
  expect(await readTopic(client, topic)).toMatchObject([{ value: protocol }]);
});

test.each(mechanisms)("a wrong password is refused by %s", async (mechanism) => {
  const params = { ...kafka().connectionParams("SASL_SSL", mechanism), password: "wrong" };
  await expect(comeIn(params)).rejects.toThrow(/[Aa]uthentication/);
});

test("a client without certificate is refused by SSL", async () => {
  const { client_cert: _cert, client_key: _key, ...params } = kafka().connectionParams("SSL");
  await expect(comeIn(params)).rejects.toThrow(/certificate required|bad certificate|disconnected|ECONNRESET/i);
});

test("a client that does not know the CA refuses the broker", async () => {
  const { root_ca: _ca, ...params } = kafka().connectionParams("SASL_SSL");
  await expect(comeIn(params)).rejects.toThrow(/certificate/);
});

test("a user who may not read a topic is refused by the broker", async () => {
  const topic = await newTopic();
  await kafka().produce(topic, ["a"]);
  const params = kafka().connectionParams("SASL_SSL");
  const denied = {
    resourceType: AclResourceTypes.TOPIC,
    resourceName: topic,
    resourcePatternType: ResourcePatternTypes.LITERAL,
    principal: `User:${params.username}`,
    host: "*",
    operation: AclOperationTypes.READ,
    permissionType: AclPermissionTypes.DENY,
  };
  await kafka().withAdmin((admin) => admin.createAcls({ acl: [denied] }));
  await expect(readTopic(kafka().client(params), topic)).rejects.toThrow(/[Nn]ot authorized/);
  expect(await kafka().read(topic)).toHaveLength(1);
});
