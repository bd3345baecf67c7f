import { afterAll, beforeAll, expect, test } from "vitest";
import { startClickHouse, type TestClickHouse } from "../support/clickhouse.ts";
import { useKafka } from "../support/kafka/use-kafka.ts";
import { requireOrSkip } from "../support/require-or-skip.ts";
import { brokenByOutages, sufferOutages } from "./kafka-outages.ts";

const kafka = useKafka();
let server: TestClickHouse;

beforeAll(async () => {
  server = await startClickHouse();
});
afterAll(() => server.stop());

test(
  "ClickHouse refuses, hangs, is silent, overloaded and slow: every id is there once, in the same group and bounded memory",
  { timeout: 120_000 },
  async ({ skip }) => {
    requireOrSkip(process.platform === "linux" ? undefined : "memory is read from /proc", skip);
    const report = await sufferOutages({ kafka: kafka(), server, each: 500, cut: true });
    expect(brokenByOutages(report), JSON.stringify(report)).toEqual([]);
  },
);
