import { describe, expect, test } from "vitest";
import { normalise } from "../../../schemas/index.ts";
import type { PipelineConfig } from "../../../schemas/pipeline.ts";
import { Event } from "../../../engine/event/event.ts";
import { arrivalsOf, clockOf } from "../../../engine/join/arrivals.ts";
import { compileSides, createKeys } from "../../../engine/workers/compile.ts";
import { keptLog } from "../../support/engine.ts";

const connection_params = { brokers: ["b:9092"], protocol: "PLAINTEXT", mechanism: "NO_AUTH" };
const clock = 1_800_000_000_000;

function kafka(source_id: string, topic: string, ...fields: string[]) {
  const schema_fields = fields.map((field) => {
    const [name, type] = field.split(" ");
    return { name, type };
  });
  return { type: "kafka", source_id, topic, connection_params, schema_fields };
}

function configOf(over: Record<string, unknown> = {}): PipelineConfig {
  return normalise({
    version: "v3",
    pipeline_id: "joined",
    sources: [kafka("l", "lefts", "id int", "k int"), kafka("r", "rights", "k string", "n string")],
    join: {
      enabled: true,
      left_source: { source_id: "l", key: "k", time_window: "1h" },
      right_source: { source_id: "r", key: "k", time_window: "0" },
      output_fields: [
        { source_id: "l", name: "id" },
        { source_id: "r", name: "n" },
      ],
    },
    sink: {
      type: "clickhouse",
      connection_params: { host: "embedded" },
      table: "t",
      mapping: [{ name: "id", column_name: "id", column_type: "Int64" }],
    },
    ...over,
  } as never);
}

function compiled(config: PipelineConfig, former: PipelineConfig[] = []) {
  const salt = Buffer.alloc(16, 3);
  const given = {
    pipeline_id: "joined",
    config,
    former,
    revision: 1,
    options: {},
    keys: createKeys(config),
    salt,
    log: keptLog(),
  };
  return compileSides(given as never, { open: () => Promise.reject(new Error("unused")), onStep: () => undefined });
}

/** What a writer of the sides makes of events: side, fingerprint and text of each arrival, and the rejections. */
function written(config: PipelineConfig, ...events: [origin: string, value: object | string][]) {
  const writer = compiled(config).sink.begin(clock);
  const made = events.map(([origin, value], position) => {
    const bytes = Buffer.from(typeof value === "string" ? value : JSON.stringify(value));
    return new Event(position, 0, bytes, 0, bytes.length, origin);
  });
  const rejected = made.flatMap((event) => writer.add([event]));
  const body = writer.body();
  expect(clockOf(body)).toBe(clock);
  const arrivals = Array.from(arrivalsOf(body), ({ side, print, start, length }) => ({
    side,
    print: Array.from(print).join(),
    text: body.toString("utf8", start, start + length),
  }));
  return { arrivals, rejected };
}

function printsOf(config: PipelineConfig, ...keys: [origin: string, key: unknown][]): string[] {
  const events = keys.map(([origin, k]): [string, string] => [
    origin,
    typeof k === "bigint" ? `{"k":${k}}` : JSON.stringify({ k }),
  ]);
  return written(config, ...events).arrivals.map(({ print }) => print);
}

describe("keys of both sides", () => {
  test.each([
    ["a text and a number with its digits", "7", 7],
    ["whole numbers of 64 bits", "9007199254740993", 9007199254740993n],
    ["empty texts", "", ""],
    ["texts that a name in a store could not have", "a b@c:+é", "a b@c:+é"],
    ["a bool and its name", true, "true"],
    ["a number with and without decimals", 1, 1.0],
  ])("are equal: %s", (_title, left, right) => {
    const [one, other] = printsOf(configOf(), ["lefts", left], ["rights", right]);
    expect(one).toBe(other);
  });

  test("differ for neighbours beyond the precision of floats", () => {
    const prints = printsOf(configOf(), ["lefts", 9007199254740992n], ["lefts", 9007199254740993n]);
    expect(new Set(prints).size).toBe(2);
  });

  test("match nothing of a join with another key field", () => {
    const config = configOf();
    const other = { ...config, join: { ...config.join!, left_source: { ...config.join!.left_source, key: "id" } } };
    const [before] = printsOf(config, ["rights", "7"]);
    const [now] = printsOf(other, ["rights", "7"]);
    expect(before).not.toBe(now);
  });

  test.each([
    ["nothing", {}, /is missing: expected a string, a number or a bool, found nothing$/],
    ["null", { k: null }, /is missing: .*found null$/],
    ["an array", { k: [1] }, /^join key k of the left side: .*found an array$/],
    ["an object", { k: { a: 1 } }, /found an object$/],
  ])("cannot be %s: a dead letter of the join", (_title, event, error) => {
    const { arrivals, rejected } = written(configOf(), ["lefts", event]);
    expect(arrivals).toEqual([]);
    expect(rejected).toMatchObject([{ component: "join", reason: "parse_error", position: 0 }]);
    expect(rejected[0]!.error).toMatch(error);
    expect(rejected[0]!.original_message).toBe(JSON.stringify(event));
  });
});

const dedup = (source_id: string) => ({ type: "dedup", source_id, config: { key: "k", time_window: "1h" } });

const eventOf = (origin: string): Event => new Event(0, 0, Buffer.from('{"id":1,"k":2}'), 0, 14, origin);

const shared = (over: Record<string, unknown> = {}) =>
  configOf({ sources: [kafka("l", "nodes", "k int", "id int"), kafka("r", "nodes", "k int", "n string")], ...over });

describe("one topic on both sides", () => {
  test("gives each event to both, or to none", () => {
    const join = { ...configOf().join!, left_source: { source_id: "l", key: "id", time_window: "1h" } };
    const { arrivals, rejected } = written(shared({ join }), ["nodes", { k: 1, id: 2, n: "x" }], ["nodes", { k: 1 }]);
    expect(arrivals.map(({ side }) => side)).toEqual(["left", "right"]);
    expect(rejected).toMatchObject([{ position: 1, component: "join" }]);
  });

  test("needs the same transforms for both sources", () => {
    expect(() => compiled(shared({ transforms: [dedup("l")] }))).toThrow(
      "pipeline joined: expected the same transforms for both sides of the join, as both read nodes",
    );
    expect(() => compiled(shared({ transforms: [dedup("l"), dedup("r")] }))).not.toThrow();
  });
});

test("events of a topic that a source has read before belong to its side; those of any other are dead letters", () => {
  const former = configOf({
    sources: [kafka("l", "old", "id int", "k int"), kafka("r", "rights", "k string", "n string")],
  });
  const { sink } = compiled(configOf(), [former]);
  const writer = sink.begin(clock);
  expect(writer.add([eventOf("old")])).toEqual([]);
  expect(writer.add([eventOf("strange")])).toMatchObject([{ component: "join", reason: "schema_mismatch" }]);
  expect([...arrivalsOf(writer.body())].length).toBe(1);
});
