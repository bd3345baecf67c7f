import { expect, test } from "vitest";
import { orderOf } from "../../../engine/sinks/clickhouse/target/order.ts";

test.each<[engine_full: string, order_by: string[]]>([
  ["MergeTree ORDER BY tuple() SETTINGS index_granularity = 8192", []],
  ["MergeTree ORDER BY id SETTINGS index_granularity = 8192", ["id"]],
  [
    "ReplacingMergeTree(version) PARTITION BY toYYYYMM(at) PRIMARY KEY id ORDER BY (id, at) TTL at + toIntervalDay(1)",
    ["id", "at"],
  ],
  ["MergeTree ORDER BY (cityHash64(id, at), `a, b`) SAMPLE BY cityHash64(id, at)", ["cityHash64(id, at)", "a, b"]],
  ["ReplacingMergeTree PARTITION BY ' ORDER BY x' ORDER BY `order` SETTINGS a = 1", ["order"]],
])("the ORDER BY of %s", (engine_full, order_by) => {
  expect(orderOf({ engine: "MergeTree", engine_full })).toEqual({ engine: "MergeTree", order_by });
});

test("a table without one has none", () => {
  expect(orderOf({ engine: "Memory", engine_full: "Memory" })).toBeUndefined();
});
