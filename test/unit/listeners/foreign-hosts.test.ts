import type { IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import { fromForeignPages } from "../../../reconciler/listeners/foreign-hosts.ts";

const isForeign = fromForeignPages(["sluice.example.com"], ["https://app.example.com"]);

test.each<[string, string | undefined, string | undefined, boolean]>([
  ["sluice.monitoring.svc:4318", undefined, "10.0.0.7", false],
  ["sluice.example.com.", "http://sluice.example.com", "10.0.0.7", false],
  ["[2001:db8::5]:4318", "http://a.example", "10.0.0.7", false],
  ["sluice.monitoring.svc:4318", "http://sluice.monitoring.svc:4318", "10.0.0.7", true],
  ["sluice.monitoring.svc:4318", "https://app.example.com", "10.0.0.7", false],
  ["rebound.example", undefined, "127.0.0.1", true],
  ["rebound.example", undefined, "::ffff:127.0.0.1", true],
  ["rebound.example", undefined, undefined, false],
])("a request to %s from the page %s over %s is foreign: %s", (host, origin, localAddress, foreign) => {
  const headers = { host, ...(origin !== undefined && { origin }) };
  expect(isForeign({ headers, socket: { localAddress } } as IncomingMessage)).toBe(foreign);
});
