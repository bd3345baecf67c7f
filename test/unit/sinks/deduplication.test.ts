import { describe, expect, test } from "vitest";
import {
  readWindowDefaults,
  whyNotDeduplicated,
  windowOf,
} from "../../../engine/sinks/clickhouse/target/deduplication.ts";
import type { Select } from "../../../engine/sinks/clickhouse/transport/sql.ts";
import type { TableInfo } from "../../../engine/sinks/clickhouse/target/table.ts";
import { RequestError } from "../../../engine/sinks/clickhouse/transport/request-error.ts";

const defaults = { plain: { entries: 5, seconds: Infinity }, replicated: { entries: 1000, seconds: 604_800 } };

function table(engine: string, settings = ""): TableInfo {
  return {
    database: "d",
    name: "t",
    uuid: "",
    engine,
    engine_full: `${engine} ORDER BY id${settings === "" ? "" : ` SETTINGS index_granularity = 8192, ${settings}`}`,
    partition_key: "",
    create_table_query: "",
    dependencies_database: [],
    dependencies_table: [],
  };
}

/** A SELECT that the server refuses with this code. */
function failing(code: number): Select {
  return async () => {
    throw new RequestError({ from: "server", code, name: "NAME", text: "no" });
  };
}

/** A server with other settings for plain tables than for replicated ones. */
const answering: Select = async (query) => {
  const entries = query.includes("replicated_merge_tree_settings") ? 7 : 3;
  return [
    { name: "non_replicated_deduplication_window", value: String(entries) },
    { name: "replicated_deduplication_window", value: String(entries * 10) },
    { name: "replicated_deduplication_window_seconds", value: "9" },
  ];
};

describe("the window of a table is that of", () => {
  test.each<[string, TableInfo, number, number]>([
    ["its server", table("MergeTree"), 5, Infinity],
    ["its own setting", table("ReplacingMergeTree", "non_replicated_deduplication_window = 700"), 700, Infinity],
    [
      "the smaller value of a setting that it has twice",
      table("MergeTree", "non_replicated_deduplication_window = 1000, non_replicated_deduplication_window = 1"),
      1,
      Infinity,
    ],
    ["its server, if replicated", table("ReplicatedMergeTree"), 1000, 604_800],
    [
      "its own settings, if replicated",
      table(
        "ReplicatedSummingMergeTree",
        "replicated_deduplication_window = 20, replicated_deduplication_window_seconds = 60",
      ),
      20,
      60,
    ],
    [
      "some of its own, if shared",
      table("SharedMergeTree", "replicated_deduplication_window_seconds = '7200'"),
      1000,
      7200,
    ],
    [
      "replicas alone, if replicated",
      table("ReplicatedMergeTree", "non_replicated_deduplication_window = 1"),
      1000,
      604_800,
    ],
    ["plain tables alone, if plain", table("MergeTree", "replicated_deduplication_window = 1"), 5, Infinity],
    ["nothing, if it keeps nothing", table("Null"), 0, Infinity],
    ["nothing, if it is spread over servers", table("Distributed"), 0, Infinity],
  ])("%s", (_title, info, entries, seconds) => {
    expect(windowOf(info, defaults)).toEqual({ entries, seconds });
  });
});

describe("a table that cannot be counted on says why", () => {
  test.each([
    ["not with a hundred entries", "MergeTree", 100, undefined],
    ["with fewer", "MergeTree", 99, "MODIFY SETTING non_replicated_deduplication_window = 10000"],
    ["with fewer, if replicated", "ReplicatedMergeTree", 99, "MODIFY SETTING replicated_deduplication_window = 10000"],
    ["with an engine that keeps nothing", "Null", 1000, "d.t has the engine Null"],
  ])("%s", (_title, engine, entries, expected) => {
    const said = whyNotDeduplicated(table(engine), { entries, seconds: Infinity });
    if (expected === undefined) expect(said).toBeUndefined();
    else expect(said).toContain(expected);
  });
});

describe("the defaults of a server", () => {
  test("are ClickHouse's own where they cannot be read", async () => {
    expect(await readWindowDefaults(failing(497))).toEqual({
      plain: { entries: 0, seconds: Infinity },
      replicated: { entries: 10_000, seconds: 3600 },
    });
  });

  test("are not guessed while the server is not well", async () => {
    await expect(readWindowDefaults(failing(241))).rejects.toThrow(RequestError);
  });

  test("are told apart by the kind of table", async () => {
    expect(await readWindowDefaults(answering)).toEqual({
      plain: { entries: 3, seconds: Infinity },
      replicated: { entries: 70, seconds: 9 },
    });
  });
});
