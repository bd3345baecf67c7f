import { expect, test } from "vitest";
import { isOverInternet } from "../../../engine/sinks/clickhouse/transport/connection.ts";

test.each([
  ["127.0.0.1", false],
  ["localhost", false],
  ["10.1.2.3", false],
  ["172.16.0.9", false],
  ["172.32.0.9", true],
  ["192.168.1.1", false],
  ["100.64.3.3", false],
  ["8.8.8.8", true],
  ["[::1]", false],
  ["fd00::5", false],
  ["2606:4700::1111", true],
  ["::ffff:10.0.0.1", false],
  ["::ffff:8.8.4.4", true],
  ["no-such-host.invalid", false],
])("%s: reached over the internet: %s", async (host, far) => {
  expect(await isOverInternet(host)).toBe(far);
});
