import { describe, expect, test } from "vitest";
import { otlpFields } from "../../../schemas/index.ts";
import { rowsOf } from "../../../engine/sources/otlp/rows/rows.ts";
import { requestOf, rowOf, rowTexts, wireOf } from "./requests.ts";

const full = {
  timeUnixNano: "1705315800123456789",
  observedTimeUnixNano: "1705315801000000000",
  severityNumber: 9,
  severityText: "INFO",
  body: { stringValue: "order placed" },
  traceId: "W47/95gDgQPSabYzgT/GDA==",
  spanId: "7uGbfsPBsXQ=",
  flags: 1,
  droppedAttributesCount: 2,
  attributes: [{ key: "user.id", value: { stringValue: "u-1" } }],
};
const resource = { attributes: [{ key: "service.name", value: { stringValue: "checkout" } }] };
const scope = { name: "app", version: "1.0", attributes: [{ key: "k", value: { boolValue: true } }] };

const named = (name: string) => ({ attributes: [{ key: "r", value: { stringValue: name } }] });
const records = (...bodies: string[]) => bodies.map((stringValue) => ({ body: { stringValue } }));

/** The row of a record without anything, byte for byte. */
const empty =
  '{"timestamp":"1970-01-01T00:00:00.005Z","observed_timestamp":"1970-01-01T00:00:00.005Z","severity_number":0,' +
  '"severity_text":"","body":"","flags":0,"dropped_attributes_count":0,"resource_attributes":{},"scope_name":"",' +
  '"scope_attributes":{},"attributes":{}}';

test("a log record becomes a row of all its fields, in the order of the schema", () => {
  const row = rowOf("logs", full, resource, scope);
  expect(row).toEqual({
    timestamp: "2024-01-15T10:50:00.123456789Z",
    observed_timestamp: "2024-01-15T10:50:01Z",
    severity_number: 9,
    severity_text: "INFO",
    body: "order placed",
    trace_id: "5b8efff798038103d269b633813fc60c",
    span_id: "eee19b7ec3c1b174",
    flags: 1,
    dropped_attributes_count: 2,
    resource_attributes: { "service.name": "checkout" },
    scope_name: "app",
    scope_version: "1.0",
    scope_attributes: { k: "true" },
    attributes: { "user.id": "u-1" },
  });
  expect(Object.keys(row)).toEqual(otlpFields["otlp.logs"].map(({ name }) => name));
});

test("what is empty is omitted or has its zero, even where resource and scope are missing", () => {
  expect(rowTexts("logs", wireOf("logs", requestOf("logs", [{}])))).toEqual([empty]);
});

test.each([
  ["has its time", { timeUnixNano: "1000000000", observedTimeUnixNano: "2000000000" }, "1970-01-01T00:00:01Z"],
  ["else its observed time", { timeUnixNano: "0", observedTimeUnixNano: "2000000000" }, "1970-01-01T00:00:02Z"],
  ["else that of arrival", { observedTimeUnixNano: "0" }, "1970-01-01T00:00:00.005Z"],
])("a record %s", (_title, times, timestamp) => {
  expect(rowOf("logs", times)).toMatchObject({ timestamp });
});

test.each([
  ["of another length", 15, 9, 7],
  ["of zeros", 16, 8, 0],
])("a record with ids %s belongs to no trace and no span", (_title, trace, span, byte) => {
  const ids = {
    traceId: Buffer.alloc(trace, byte).toString("base64"),
    spanId: Buffer.alloc(span, byte).toString("base64"),
  };
  const row = rowOf("logs", { ...ids, body: { stringValue: "kept" } });
  expect(row).toMatchObject({ body: "kept" });
  expect(row).not.toHaveProperty("trace_id");
  expect(row).not.toHaveProperty("span_id");
});

test("a request without records has no rows, and its events are one behind the other otherwise", () => {
  expect(rowsOf("logs", Buffer.alloc(0), "protobuf", 5)).toEqual({
    bytes: Buffer.alloc(0),
    ends: [],
    receivedAt: 5,
    signal: "logs",
    leftOut: 0,
    refused: 0,
  });
  const { bytes, ends } = rowsOf("logs", wireOf("logs", requestOf("logs", [{}, {}])), "protobuf", 5);
  expect(bytes.toString()).toBe(empty + empty);
  expect(ends).toEqual([empty.length, 2 * empty.length]);
});

test("records come in the order of resources, scopes and records, each with its own", () => {
  const request = {
    resourceLogs: [
      {
        resource: named("one"),
        scopeLogs: [
          { scope: { name: "s1" }, logRecords: records("a", "b") },
          { scope: { name: "s2", version: "2" }, logRecords: records("c") },
        ],
      },
      { resource: named("two"), scopeLogs: [{ logRecords: records("d") }] },
    ],
  };
  const rows = rowTexts("logs", wireOf("logs", request)).map((text) => JSON.parse(text) as Record<string, unknown>);
  expect(rows.map((row) => [row["resource_attributes"], row["scope_name"], row["scope_version"], row["body"]])).toEqual(
    [
      [{ r: "one" }, "s1", undefined, "a"],
      [{ r: "one" }, "s1", undefined, "b"],
      [{ r: "one" }, "s2", "2", "c"],
      [{ r: "two" }, "", undefined, "d"],
    ],
  );
});

describe("timestamps are RFC 3339 with nanoseconds, without zeros at the end", () => {
  test.each([
    ["1", "1970-01-01T00:00:00.000000001Z"],
    ["999999999", "1970-01-01T00:00:00.999999999Z"],
    ["1000000000", "1970-01-01T00:00:01Z"],
    ["1705315800500000000", "2024-01-15T10:50:00.5Z"],
    ["1705315800000000010", "2024-01-15T10:50:00.00000001Z"],
    ["4294967296000000001", "2106-02-07T06:28:16.000000001Z"],
    ["18446744073709551615", "2554-07-21T23:34:33.709551615Z"],
  ])("%s is %s", (timeUnixNano, expected) => {
    expect(rowOf("logs", { timeUnixNano })["timestamp"]).toBe(expected);
  });
});

describe("numbers keep their ranges", () => {
  test.each([
    ["severityNumber", 24, "severity_number", 24],
    ["severityNumber", 99, "severity_number", 99],
    ["flags", 4294967295, "flags", 4294967295],
    ["droppedAttributesCount", 4294967295, "dropped_attributes_count", 4294967295],
  ])("%s %d", (field, given, name, expected) => {
    expect(rowOf("logs", { [field]: given })[name]).toBe(expected);
  });
});
