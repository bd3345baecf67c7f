import { describe, expect, test } from "vitest";
import { endpointOf } from "../../../engine/sinks/clickhouse/transport/endpoint.ts";
import type { SinkConnection } from "../../../schemas/pipeline.ts";

function connection(fields: Partial<SinkConnection>): SinkConnection {
  return { host: "ch", database: "d", secure: false, skip_certificate_verification: false, ...fields };
}

describe("the HTTP address", () => {
  test.each<[string, Partial<SinkConnection>, string, boolean]>([
    ["is http_port where it is given", { port: "9000", http_port: "8124" }, "http://ch:8124", false],
    ["is 8123 beside the native port 9000", { port: "9000" }, "http://ch:8123", true],
    ["is 8443 beside the native port 9440", { port: "9440", secure: true }, "https://ch:8443", true],
    ["is port itself else", { port: "8123" }, "http://ch:8123", false],
    ["is port where http_port is blank", { port: "18123", http_port: "  " }, "http://ch:18123", false],
    ["has brackets around IPv6", { host: "::1", port: "8123" }, "http://[::1]:8123", false],
  ])("%s", (_title, fields, url, isGuessed) => {
    const found = endpointOf(connection(fields));
    expect(found).toMatchObject({ url });
    expect(typeof found === "object" && found.warning !== undefined).toBe(isGuessed);
  });

  test("a guess says which ports and how to end it", () => {
    expect(endpointOf(connection({ port: "9000" }))).toMatchObject({
      warning:
        "connection_params.port 9000 is the port of the native protocol; using 8123 for HTTP. Set http_port to choose it explicitly.",
    });
  });

  test.each<[string, Partial<SinkConnection>, string]>([
    ["no port", {}, 'connection_params.port: expected a port from 1 to 65535, got ""'],
    ["a word", { port: "http" }, 'connection_params.port: expected a port from 1 to 65535, got "http"'],
    [
      "a port too high",
      { http_port: "70000" },
      'connection_params.http_port: expected a port from 1 to 65535, got "70000"',
    ],
    ["a URL", { host: "http://ch", port: "8123" }, "connection_params.host: expected a host name or an address"],
    ["a path", { host: "ch/db", port: "8123" }, "connection_params.host: expected a host name or an address"],
    ["a user", { host: "root@ch", port: "8123" }, "connection_params.host: expected a host name or an address"],
  ])("is refused for %s", (_title, fields, problem) => {
    expect(endpointOf(connection(fields))).toContain(problem);
  });
});
