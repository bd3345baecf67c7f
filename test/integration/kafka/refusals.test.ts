import kafkajs from "kafkajs";
import { expect, test, vi } from "vitest";
import { defaultOptions } from "../../../schemas/index.ts";
import { useKafka } from "../../support/kafka/use-kafka.ts";
import { type ConnectionParams, mechanisms, type Protocol } from "../../support/kafka/access.ts";
import { readiness } from "./readiness.ts";
import { useScenes } from "./kafka-scene.ts";

vi.setConfig({ testTimeout: 60_000 });

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;
const kafka = useKafka({ wantsLogin: true });
const inScene = useScenes(kafka);

/** Why a topic cannot be read by these settings; undefined where it can. */
async function refusal(params: ConnectionParams): Promise<string | undefined> {
  const found = await readiness(kafka(), params);
  return found.kind === "ready" ? undefined : found.text;
}

const withTls = /the listener speaks TLS, at [\d.:]+: try protocol SSL, or SASL_SSL where it asks for a login$/;
const withoutTls =
  /, at [\d.:]+; a listener without TLS does that: try protocol PLAINTEXT, or SASL_PLAINTEXT where it asks for a login$/;
const withLogin =
  /Closed connection, at [\d.:]+; a listener that asks for a login does that: try protocol SASL_PLAINTEXT, or SASL_SSL where it speaks TLS, and a mechanism$/;
const withoutLogin =
  /\(ILLEGAL_SASL_STATE\): the listener takes no login: try protocol PLAINTEXT, or SSL where it speaks TLS, without a mechanism$/;
const withCertificate =
  /: sslv3 alert bad certificate, at [\d.:]+; a listener that asks for a client certificate does that: set client_cert and client_key/;

test.each<[Protocol, Partial<Record<Protocol, RegExp>>]>([
  ["PLAINTEXT", { SASL_PLAINTEXT: withoutLogin, SSL: withoutTls, SASL_SSL: withoutTls }],
  ["SASL_PLAINTEXT", { PLAINTEXT: withLogin, SSL: withoutTls, SASL_SSL: withoutTls }],
  ["SSL", { PLAINTEXT: withTls, SASL_PLAINTEXT: withTls, SASL_SSL: withCertificate }],
  ["SASL_SSL", { PLAINTEXT: withTls, SASL_PLAINTEXT: withTls, SSL: withLogin }],
])("a listener of %s says what it is to clients of other protocols", async (listener, clients) => {
  const { brokers } = kafka().connectionParams(listener);
  for (const [protocol, text] of Object.entries(clients)) {
    expect(await refusal({ ...kafka().connectionParams(protocol as Protocol), brokers }), protocol).toMatch(text);
  }
});

test("a login at a TLS listener without one, and a certificate of an unknown CA, say what to set", async () => {
  const { client_cert, client_key, ...params } = kafka().connectionParams("SSL");
  const login = { ...kafka().connectionParams("SASL_SSL"), brokers: params.brokers, client_cert, client_key };
  expect(await refusal(login as ConnectionParams)).toMatch(withoutLogin);
  const { root_ca: _ca, ...stranger } = kafka().connectionParams("SASL_SSL");
  expect(await refusal(stranger)).toMatch(/: set root_ca to the CA that signed the certificate of the brokers$/);
});

test.each(mechanisms)("a wrong password is named as such by %s", async (mechanism) => {
  const params = { ...kafka().connectionParams("SASL_PLAINTEXT", mechanism), password: "wrong-password" };
  expect(await refusal(params)).toMatch(/[Aa]uthentication failed.*(Invalid username or password|invalid credentials)/);
});

test.each([
  ["topic", "TOPIC", "READ", /\(TOPIC_AUTHORIZATION_FAILED\): the user needs the right READ on the topic$/],
  ["topic", "TOPIC", "DESCRIBE", /\(TOPIC_AUTHORIZATION_FAILED\): the user needs the right READ on the topic$/],
  ["group", "GROUP", "READ", /\(GROUP_AUTHORIZATION_FAILED\): the user needs the right READ on group GROUP$/],
  ["group", "GROUP", "DESCRIBE", /\(GROUP_AUTHORIZATION_FAILED\): the user needs the right READ on group GROUP$/],
] as const)(
  "a pipeline whose user has no right on its %s (%s, %s) says which one it needs",
  (resource, type, operation, text) =>
    inScene(async (scene) => {
      const params = scene.kafka.connectionParams("SASL_PLAINTEXT");
      const denied = {
        resourceType: AclResourceTypes[type],
        resourceName: scene[resource],
        resourcePatternType: ResourcePatternTypes.LITERAL,
        principal: `User:${params.username}`,
        host: "*",
        operation: AclOperationTypes[operation],
        permissionType: AclPermissionTypes.DENY,
      };
      await scene.kafka.withAdmin((admin) => admin.createAcls({ acl: [denied] }));
      const [source] = scene.config().sources;
      await scene.create(scene.config({}, { sources: [{ ...source, connection_params: params }] }), defaultOptions);
      const { paused } = await scene.until(({ paused: pause }) => pause !== undefined);
      expect(paused).toMatchObject({ class: "source" });
      expect(paused!.text.replace(scene.group, "GROUP")).toMatch(text);
    }),
);
