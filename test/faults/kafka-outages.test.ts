/** @module-tag rest */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startClickHouse, type TestClickHouse } from "../support/clickhouse.ts";
import { useKafka } from "../support/kafka/use-kafka.ts";
import { brokenByOutages, sufferOutages } from "./kafka-outages.ts";

const kafka = useKafka();
let server: TestClickHouse;

beforeAll(async () => {
  server = await startClickHouse();
});
afterAll(() => server.stop());

test(
  "ClickHouse refuses, hangs, is silent, overloaded and slow: every id is there once, in the same group",
  { timeout: 300_000 },
  async () => {
    const report = await sufferOutages({ kafka: kafka(), server, each: 500, cut: true, eventsPerSecond: 200 });
    expect(brokenByOutages(report), JSON.stringify(report)).toEqual([]);
  },
);
