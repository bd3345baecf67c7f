import { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { isLoopback, networkOf } from "../../../reconciler/listeners/address.ts";
import { tokenCheck } from "../../../reconciler/listeners/bearer.ts";
import { createListenersTelemetry } from "../../../reconciler/status/listener-telemetry.ts";
import { keptLog } from "../../support/engine.ts";

test.each([
  ["127.0.0.1", true],
  ["127.8.9.10", true],
  ["::1", true],
  ["0.0.0.0", false],
  ["::", false],
  ["192.0.2.1", false],
  ["::ffff:127.0.0.1", true],
  ["::ffff:192.0.2.1", false],
])("%s is on loopback: %s", (address, expected) => {
  expect(isLoopback(address)).toBe(expected);
});

test("addresses of one /64 network are one, and an IPv4 address is its own", () => {
  expect(networkOf("2001:db8:1:2::3")).toBe(networkOf("2001:db8:1:2:ffff::9"));
  expect(networkOf("2001:db8:1:2::3")).not.toBe(networkOf("2001:db8:1:3::3"));
  expect(networkOf("192.0.2.1")).toBe("192.0.2.1");
});

describe("tokens", () => {
  const [first, second] = ["the-first-token-of-two", "the-second-token-of-two"];

  test.each([
    ["Bearer the-first-token-of-two", "yes"],
    ["bearer the-second-token-of-two", "yes"],
    [`Basic ${Buffer.from("me:the-first-token-of-two").toString("base64")}`, "yes"],
    [`Basic ${Buffer.from("the-first-token-of-two").toString("base64")}`, "no"],
    ["the-first-token-of-two", "no"],
    ["Bearer the-first-token-of-tw", "no"],
    ["Bearer the-first-token-of-two more", "no"],
    ["Bearer ", "no"],
    ["", "no"],
    [undefined, "no"],
  ])("%s: %s", async (authorization, expected) => {
    const check = tokenCheck(
      async () => [first, second],
      () => undefined,
    );
    expect(await check(authorization)).toBe(expected);
  });

  test("that cannot be read admit nobody, and the failure is told once", async () => {
    const failures: unknown[] = [];
    const check = tokenCheck(
      () => Promise.reject(new Error("gone")),
      (error) => failures.push(error),
    );
    expect(await Promise.all([check(`Bearer ${first}`), check(undefined)])).toEqual(["unknown", "unknown"]);
    expect(failures).toEqual([new Error("gone")]);
  });
});

describe("refused connections", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("are one log line a minute for each listener, with their counts, and all of them are counted", async () => {
    const log = keptLog();
    const registry = new Registry();
    const telemetry = createListenersTelemetry(log, registry, ["displaced", "tls"]);
    const [api, hook] = [telemetry.of("api", () => 7), telemetry.of("hook", () => 0)];
    for (let n = 0; n < 5_000; n += 1) api.refused("displaced", "192.0.2.1");
    hook.refused("tls", "192.0.2.2");
    await vi.advanceTimersByTimeAsync(1_000);
    expect(log.lines).toHaveLength(2);
    for (let n = 0; n < 5_000; n += 1) api.refused("displaced", "192.0.2.3");
    await vi.advanceTimersByTimeAsync(58_000);
    expect(log.lines).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(log.lines).toHaveLength(3);
    expect(log.lines.at(-1)).toMatchObject({
      fields: { listener: "api", displaced: 5_000, last_from: "192.0.2.3" },
    });
    const text = await registry.metrics();
    expect(text).toContain('sluice_listener_connections_refused_total{listener="api",reason="displaced"} 10000');
    expect(text).toContain('sluice_listener_connections_refused_total{listener="api",reason="tls"} 0');
    expect(text).toContain('sluice_listener_connections{listener="api"} 7');
  });
});
