import { describe, expect, test } from "vitest";
import { otlpFields } from "../../../schemas/index.ts";
import { rowsOf } from "../../../engine/sources/otlp/rows/rows.ts";
import { requestOf, rowOf, rowTexts, spanIds, wireOf } from "./requests.ts";

const text = (stringValue: string) => ({ stringValue });

test("a span becomes a row of all its fields, in the order of the schema", () => {
  const span = {
    traceId: "W47/95gDgQPSabYzgT/GDA==",
    spanId: "7uGbfsPBsXQ=",
    parentSpanId: "7uGbfsPBsXM=",
    traceState: "a=1",
    flags: 257,
    name: "GET /orders",
    kind: 2,
    startTimeUnixNano: "1705315800000000001",
    endTimeUnixNano: "1705315800250000000",
    attributes: [{ key: "http.status_code", value: { intValue: "200" } }],
    droppedAttributesCount: 1,
    events: [
      {
        timeUnixNano: "1705315800100000000",
        name: "retry",
        attributes: [{ key: "n", value: { intValue: "2" } }],
        droppedAttributesCount: 4,
      },
      {},
    ],
    droppedEventsCount: 2,
    links: [
      {
        traceId: "W47/95gDgQPSabYzgT/GDA==",
        spanId: "7uGbfsPBsXQ=",
        traceState: "b=2",
        attributes: [{ key: "why", value: text("batch") }],
        droppedAttributesCount: 5,
        flags: 1,
      },
      {},
    ],
    droppedLinksCount: 3,
    status: { code: 2, message: "timeout" },
  };
  const row = rowOf("traces", span, { attributes: [{ key: "r", value: text("1") }] }, { name: "s", version: "2" });
  expect(row).toEqual({
    trace_id: "5b8efff798038103d269b633813fc60c",
    span_id: "eee19b7ec3c1b174",
    parent_span_id: "eee19b7ec3c1b173",
    trace_state: "a=1",
    flags: 257,
    name: "GET /orders",
    kind: "SERVER",
    start_timestamp: "2024-01-15T10:50:00.000000001Z",
    end_timestamp: "2024-01-15T10:50:00.25Z",
    duration_ns: 249999999,
    status_code: "ERROR",
    status_message: "timeout",
    dropped_attributes_count: 1,
    dropped_events_count: 2,
    dropped_links_count: 3,
    events: [
      { timestamp: "2024-01-15T10:50:00.1Z", name: "retry", attributes: { n: "2" }, dropped_attributes_count: 4 },
      { timestamp: "1970-01-01T00:00:00.005Z", name: "", attributes: {}, dropped_attributes_count: 0 },
    ],
    links: [
      {
        trace_id: "5b8efff798038103d269b633813fc60c",
        span_id: "eee19b7ec3c1b174",
        trace_state: "b=2",
        attributes: { why: "batch" },
        dropped_attributes_count: 5,
      },
      { attributes: {}, dropped_attributes_count: 0 },
    ],
    resource_attributes: { r: "1" },
    scope_name: "s",
    scope_version: "2",
    scope_attributes: {},
    attributes: { "http.status_code": "200" },
  });
  expect(Object.keys(row)).toEqual(otlpFields["otlp.traces"].map(({ name }) => name));
});

test("what is empty is omitted or has its zero", () => {
  expect(rowTexts("traces", wireOf("traces", requestOf("traces", [spanIds])))).toEqual([
    '{"trace_id":"5b8efff798038103d269b633813fc60c","span_id":"eee19b7ec3c1b174","flags":0,"name":"","kind":"UNSPECIFIED","start_timestamp":"1970-01-01T00:00:00.005Z",' +
      '"end_timestamp":"1970-01-01T00:00:00.005Z","duration_ns":0,"status_code":"UNSET","dropped_attributes_count":0,' +
      '"dropped_events_count":0,"dropped_links_count":0,"events":[],"links":[],"resource_attributes":{},' +
      '"scope_name":"","scope_attributes":{},"attributes":{}}',
  ]);
});

describe("kinds and statuses are named", () => {
  test.each([
    [0, "UNSPECIFIED"],
    [1, "INTERNAL"],
    [2, "SERVER"],
    [3, "CLIENT"],
    [4, "PRODUCER"],
    [5, "CONSUMER"],
    [6, "UNSPECIFIED"],
    [-1, "UNSPECIFIED"],
  ])("kind %d is %s", (kind, expected) => {
    expect(rowOf("traces", { kind })["kind"]).toBe(expected);
  });

  test.each([
    [0, "UNSET"],
    [1, "OK"],
    [2, "ERROR"],
    [3, "UNSET"],
  ])("status %d is %s", (code, expected) => {
    expect(rowOf("traces", { status: { code } })["status_code"]).toBe(expected);
  });
});

describe("a duration is exact, and 0 where a span ends before it starts", () => {
  test.each([
    ["0", "0", "0"],
    ["5", "5", "0"],
    ["4294967295", "4294967296", "1"],
    ["2", "1", "0"],
    ["1705315800000000001", "1705315800000000000", "0"],
    ["1", "18446744073709551615", "18446744073709551614"],
    ["1", "9007199254740994", "9007199254740993"],
  ])("from %s to %s", (startTimeUnixNano, endTimeUnixNano, expected) => {
    const [row] = rowTexts(
      "traces",
      wireOf("traces", requestOf("traces", [{ ...spanIds, startTimeUnixNano, endTimeUnixNano }])),
    );
    expect(row).toContain(`"duration_ns":${expected},`);
  });
});

test.each([
  ["start", { endTimeUnixNano: "2000000000" }, "1970-01-01T00:00:02Z"],
  ["end", { startTimeUnixNano: "2000000000" }, "1970-01-01T00:00:02Z"],
  ["time", {}, "1970-01-01T00:00:00.005Z"],
])("a span without a %s has the time that is known, and no duration", (_title, times, expected) => {
  const row = rowOf("traces", times);
  expect(row).toMatchObject({ start_timestamp: expected, end_timestamp: expected, duration_ns: 0 });
});

/** `count` bytes in base64. */
const bytesOf = (count: number, byte = 7) => Buffer.alloc(count, byte).toString("base64");

describe("the protocol calls a span invalid without a trace id of 16 bytes and a span id of 8", () => {
  const refused: [string, object][] = [
    ["no trace id", { traceId: "" }],
    ["a trace id of zeros", { traceId: bytesOf(16, 0) }],
    ["a trace id of 8 bytes", { traceId: bytesOf(8) }],
    ["a trace id of 17 bytes", { traceId: bytesOf(17) }],
    ["no span id", { spanId: "" }],
    ["a span id of zeros", { spanId: bytesOf(8, 0) }],
    ["a span id of 16 bytes", { spanId: bytesOf(16) }],
    ["a parent of 4 bytes", { parentSpanId: bytesOf(4) }],
  ];

  test.each(refused)("refused and counted: %s", (_title, ids) => {
    const spans = [
      { ...spanIds, name: "before" },
      { ...spanIds, ...ids },
      { ...spanIds, name: "after" },
    ];
    const rows = rowsOf("traces", wireOf("traces", requestOf("traces", spans)), "protobuf", 5);
    expect(rows.refused).toBe(1);
    const names = rows.ends.map((end, at) => JSON.parse(rows.bytes.toString("utf8", rows.ends[at - 1] ?? 0, end)).name);
    expect(names).toEqual(["before", "after"]);
  });

  test("hexadecimal digits in JSON are checked alike", () => {
    const span = { traceId: "07".repeat(16), spanId: "07".repeat(8) };
    const json = Buffer.from(JSON.stringify(requestOf("traces", [span, { ...span, spanId: "07".repeat(4) }])));
    const rows = rowsOf("traces", json, "json", 5);
    expect([rows.ends.length, rows.refused]).toEqual([1, 1]);
  });

  test("a parent of zeros is none, and a link without valid ids stays without them", () => {
    const links = [{ traceId: bytesOf(3), spanId: bytesOf(8), attributes: [] }];
    const row = rowOf("traces", { parentSpanId: bytesOf(8, 0), links });
    expect(row).not.toHaveProperty("parent_span_id");
    expect(row["links"]).toEqual([{ span_id: "0707070707070707", attributes: {}, dropped_attributes_count: 0 }]);
  });
});
