import { expect, test } from "vitest";
import { type Server, serversGetting, serversOf, serverText } from "../../../schemas/index.ts";
import { kafkaPipeline, webhookPipeline } from "../../support/pipelines.ts";

const { sink } = webhookPipeline("p");

/** Servers as texts; of those that cannot be read what is wrong with them. */
const shown = (servers: readonly Server[]): string[] =>
  servers.map((server) => (server.kind === "unreadable" ? `${server.field}: ${server.problem}` : serverText(server)));

function writingTo(params: object): ReturnType<typeof webhookPipeline> {
  const connection_params = { database: "d", username: "u", password: "x", ...params };
  return webhookPipeline("p", { sink: { ...sink, connection_params } });
}

test("the servers that are checked, and that get a secret, are those that are connected to", () => {
  const brokers = ["KAFKA.example.com.:9092", "[::1]:9094"];
  const connection_params = { brokers, protocol: "SASL_SSL", mechanism: "PLAIN", username: "u", password: "x" };
  const config = kafkaPipeline("p", { topic: "t", connection_params });
  const servers = ["tls://kafka.example.com:9092", "tls://[::1]:9094"];
  expect(shown(serversOf(config))).toEqual([...servers, "embedded"]);
  expect(shown(serversGetting(config, ["sources", 0, "connection_params", "password"]))).toEqual(servers);
  expect(shown(serversGetting(config, ["sink", "connection_params", "password"]))).toEqual(["embedded"]);
  expect(serversGetting(config, ["x-sluice", "access_token"])).toEqual([]);
});

test.each<[object, string]>([
  [{ host: "CH.example.com", port: "9000" }, "ch.example.com:8123"],
  [{ host: "ch", port: "9440", secure: true }, "tls://ch:8443"],
  [{ host: "ch", port: "9440", secure: true, skip_certificate_verification: true }, "ch:8443"],
  [{ host: "::1", port: "9000", http_port: "8124" }, "[::1]:8124"],
  [{ host: "127.1", port: "9000" }, 'sink.connection_params.host: expected a host name or an address, got "127.1"'],
  [
    { host: "EMBEDDED", port: "9000" },
    'sink.connection_params.host: expected a host name or an address, got "EMBEDDED"',
  ],
  [
    { host: "u:s3cret@ch", port: "1" },
    "sink.connection_params.host: expected a host name or an address, got a text with an @",
  ],
  [{ host: "ch", port: "x" }, 'sink.connection_params.port: expected a port from 1 to 65535, got "x"'],
])("of %j it is %s", (params, server) => {
  expect(shown(serversOf(writingTo(params)))).toEqual([server]);
});

test.each([
  ["https://registry.example.com/apis", "tls://registry.example.com:443"],
  ["http://registry:8081", "registry:8081"],
  ["https://evil.example\\\\.registry.example.com", "sources[0].schema_registry.url: expected http:// or https://"],
  ["https://registry@evil.example", "sources[0].schema_registry.url: expected http:// or https://"],
])("of the registry %s it is %s", (url, server) => {
  const connection_params = { brokers: ["k:9092"], protocol: "PLAINTEXT" };
  const config = kafkaPipeline("p", { topic: "t", connection_params, schema_registry: { url, api_secret: "x" } });
  const [found] = shown(serversGetting(config, ["sources", 0, "schema_registry", "api_secret"]));
  expect(found?.startsWith(server)).toBe(true);
});
