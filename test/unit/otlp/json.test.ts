import { isUtf8 } from "node:buffer";
import { describe, expect, test } from "vitest";
import type { Signal } from "../../../engine/core/push.ts";
import { MalformedRequest } from "../../../engine/sources/otlp/protobuf/wire.ts";
import { rowsOf } from "../../../engine/sources/otlp/rows/rows.ts";
import { type Part, requestOf, rowTexts } from "./requests.ts";

/** The only row of a request in JSON. */
function rowOf(signal: Signal, body: string): Record<string, unknown> {
  const texts = rowTexts(signal, Buffer.from(body), "json");
  expect(texts).toHaveLength(1);
  return JSON.parse(texts[0]!) as Record<string, unknown>;
}

function logOf(record: Part): Record<string, unknown> {
  return rowOf("logs", JSON.stringify(requestOf("logs", [record])));
}

test.each([
  ["1.7e18", "2023-11-14T22:13:20Z"],
  ['"1.7e18"', "2023-11-14T22:13:20Z"],
  ["1.7000000005e18", "2023-11-14T22:13:20.5Z"],
  ["1700000000000000001", "2023-11-14T22:13:20.000000001Z"],
])("a time of %s nanoseconds is %s", (time, expected) => {
  const body = `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":${time}}]}]}]}`;
  expect(rowOf("logs", body)["timestamp"]).toBe(expected);
});

test("a log record in OTLP/JSON", () => {
  const body = `{"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"my.service"}}]},
    "scopeLogs":[{"scope":{"name":"my.library","version":"1.0.0","attributes":[{"key":"a","value":{"boolValue":true}}]},
    "logRecords":[{"timeUnixNano":"1544712660300000000","observedTimeUnixNano":"1544712660300000000","severityNumber":10,
    "severityText":"Information","traceId":"5B8EFFF798038103D269B633813FC60C","spanId":"eee19b7ec3c1b174","flags":1,
    "body":{"stringValue":"Example log record"},"attributes":[
    {"key":"string.attribute","value":{"stringValue":"some string"}},
    {"key":"int.attribute","value":{"intValue":"10"}},{"key":"double.attribute","value":{"doubleValue":637.704}},
    {"key":"array.attribute","value":{"arrayValue":{"values":[{"stringValue":"many"},{"stringValue":"values"}]}}},
    {"key":"map.attribute","value":{"kvlistValue":{"values":[{"key":"some.key","value":{"stringValue":"some"}}]}}},
    {"key":"bytes.attribute","value":{"bytesValue":"AP8="}}]}]}]}]}`;
  expect(rowOf("logs", body)).toEqual({
    timestamp: "2018-12-13T14:51:00.3Z",
    observed_timestamp: "2018-12-13T14:51:00.3Z",
    severity_number: 10,
    severity_text: "Information",
    body: "Example log record",
    trace_id: "5b8efff798038103d269b633813fc60c",
    span_id: "eee19b7ec3c1b174",
    flags: 1,
    dropped_attributes_count: 0,
    resource_attributes: { "service.name": "my.service" },
    scope_name: "my.library",
    scope_version: "1.0.0",
    scope_attributes: { a: "true" },
    attributes: {
      "string.attribute": "some string",
      "int.attribute": "10",
      "double.attribute": "637.704",
      "array.attribute": '["many","values"]',
      "map.attribute": '{"some.key":"some"}',
      "bytes.attribute": "00ff",
    },
  });
});

test("a span and a data point in OTLP/JSON, with names as the .proto files spell them", () => {
  const span = {
    trace_id: "5b8efff798038103d269b633813fc60c",
    span_id: "eee19b7ec3c1b172",
    parent_span_id: "EEE19B7EC3C1B173",
    kind: "SPAN_KIND_SERVER",
    start_time_unix_nano: 5,
    end_time_unix_nano: "7",
    links: [{ span_id: "eee19b7ec3c1b174" }],
    status: { code: "STATUS_CODE_ERROR" },
  };
  expect(rowOf("traces", JSON.stringify({ resource_spans: [{ scope_spans: [{ spans: [span] }] }] }))).toMatchObject({
    trace_id: "5b8efff798038103d269b633813fc60c",
    parent_span_id: "eee19b7ec3c1b173",
    kind: "SERVER",
    duration_ns: 2,
    links: [{ span_id: "eee19b7ec3c1b174" }],
    status_code: "ERROR",
  });
  const histogram = {
    aggregationTemporality: "AGGREGATION_TEMPORALITY_DELTA",
    dataPoints: [{ bucketCounts: ["1", 2], explicitBounds: [1, "2.5", "Infinity"], sum: "NaN", min: -1e-3 }],
  };
  expect(rowOf("metrics", JSON.stringify(requestOf("metrics", [{ name: "m", histogram }])))).toMatchObject({
    metric_type: "histogram",
    aggregation_temporality: "DELTA",
    bucket_counts: [1, 2],
    explicit_bounds: [1, 2.5, "Infinity"],
    sum: "NaN",
    min: -0.001,
  });
});

describe("whole numbers of 64 bits are texts or numbers, and exact", () => {
  test.each([
    ['"9223372036854775807"', "9223372036854775807"],
    ["9223372036854775807", "9223372036854775807"],
    ["-9223372036854775808", "-9223372036854775808"],
    ['"-9007199254740993"', "-9007199254740993"],
    ["-9007199254740993", "-9007199254740993"],
    ["-4294967297", "-4294967297"],
    ["1e3", "1000"],
    ['"7"', "7"],
  ])("%s", (spelled, expected) => {
    const body = `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"intValue":${spelled}}}]}]}]}`;
    expect(rowOf("logs", body)["body"]).toBe(expected);
  });

  test("a time that is a number", () => {
    const body = '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":1705315800123456789}]}]}]}';
    expect(rowOf("logs", body)["timestamp"]).toBe("2024-01-15T10:50:00.123456789Z");
  });
});

describe("what may be spelled in several ways", () => {
  test.each<[string, Part, string, unknown]>([
    ["an id in upper case", { spanId: "EEE19B7EC3C1B174" }, "span_id", "eee19b7ec3c1b174"],
    ["an id in base64, as its length shows", { spanId: "7uGbfsPBsXQ=" }, "span_id", "eee19b7ec3c1b174"],
    ["and without padding", { traceId: "W47/95gDgQPSabYzgT/GDA" }, "trace_id", "5b8efff798038103d269b633813fc60c"],
    ["an id of another length", { traceId: "ff" }, "trace_id", undefined],
    ["an empty id", { traceId: "" }, "trace_id", undefined],
    ["bytes in base64 for URLs", { body: { bytesValue: "-_8" } }, "body", "fbff"],
    ["an enum's name", { severityNumber: "SEVERITY_NUMBER_ERROR" }, "severity_number", 17],
    ["a number of an enum that has no name", { severityNumber: 99 }, "severity_number", 99],
    ["null instead of a value", { body: { stringValue: null }, severityText: null }, "body", ""],
    ["unknown fields", { eventName: "e", body: { stringValue: "b", other: [{}] }, x: { y: 1 } }, "body", "b"],
    ["a double that is too great", { body: { doubleValue: "1e999" } }, "body", "+Inf"],
  ])("%s", (_title, record, field, expected) => {
    expect(logOf(record)[field]).toBe(expected);
  });
});

test("half of a character is kept as bytes that are not UTF-8, so that the row is a dead letter", () => {
  const body = JSON.stringify(requestOf("logs", [{ body: { stringValue: "é\ud800b" } }]));
  const { bytes } = rowsOf("logs", Buffer.from(body), "json", 5);
  expect(bytes.includes(Buffer.from([0xc3, 0xa9, 0xed, 0xa0, 0x80, 0x62]))).toBe(true);
  expect(isUtf8(bytes)).toBe(false);
});

test("a body that is not UTF-8 is refused", () => {
  const body = Buffer.from(JSON.stringify(requestOf("logs", [{ body: { stringValue: "caf\xe9" } }])), "latin1");
  expect(() => rowsOf("logs", body, "json", 5)).toThrow(MalformedRequest);
  expect(() => rowsOf("logs", body, "json", 5)).toThrow("found bytes that are not UTF-8");
});

const record = "resourceLogs[0].scopeLogs[0].logRecords[0]";
const malformed: [string, string, string][] = [
  ["no JSON", "{", "the body is not JSON: "],
  ["nothing", "", "the body is not JSON: "],
  ["an array", "[]", "the body: expected an object, found an array"],
  ["a resource list that is none", '{"resourceLogs":{}}', "resourceLogs: expected an array, found an object"],
  ["a resource that is none", '{"resourceLogs":[null]}', "resourceLogs[0]: expected an object, found null"],
];
const malformedRecords: [string, string][] = [
  ['{"body":"text"}', `${record}.body: expected an object, found a string`],
  ['{"body":{"stringValue":1}}', `${record}.body.stringValue: expected a string, found 1`],
  ['{"body":{"boolValue":"true"}}', `${record}.body.boolValue: expected true or false, found a string`],
  ['{"body":{"intValue":1.5}}', `expected a whole number from -9223372036854775808 to 9223372036854775807, found 1.5`],
  ['{"body":{"intValue":"9223372036854775808"}}', `9223372036854775807, found a string`],
  ['{"body":{"doubleValue":"secret"}}', `expected a number, "NaN", "Infinity" or "-Infinity", found a string`],
  ['{"body":{"bytesValue":"***"}}', `${record}.body.bytesValue: expected a string of base64, found a string`],
  ['{"timeUnixNano":1.70000000000000000e-1}', `${record}.timeUnixNano: expected a whole number from 0`],
  ['{"timeUnixNano":"1e20"}', `${record}.timeUnixNano: expected a whole number from 0`],
  ['{"timeUnixNano":-1}', `${record}.timeUnixNano: expected a whole number from 0 to 18446744073709551615, found -1`],
  ['{"timeUnixNano":18446744073709551616}', `${record}.timeUnixNano: expected a whole number from 0`],
  ['{"flags":4294967296}', `${record}.flags: expected a whole number from 0 to 4294967295, found 4294967296`],
  ['{"severityNumber":"LOUD"}', `${record}.severityNumber: expected a number or a name of its enum, found a string`],
  ['{"traceId":"xyz"}', `${record}.traceId: expected an even number of hexadecimal digits, found a string`],
  ['{"traceId":7}', `${record}.traceId: expected a string of hexadecimal digits, found 7`],
  ['{"attributes":[{"key":"k"},{"value":[]}]}', `${record}.attributes[1].value: expected an object, found an array`],
];

describe("what is malformed is refused with its place, what was expected, and what was found", () => {
  const records = malformedRecords.map(([text, expected]): [string, string, string] => [
    text,
    `{"resourceLogs":[{"scopeLogs":[{"logRecords":[${text}]}]}]}`,
    expected,
  ]);
  test.each([...malformed, ...records])("%s", (_title, body, expected) => {
    const attempt = () => rowsOf("logs", Buffer.from(body), "json", 5);
    expect(attempt).toThrow(MalformedRequest);
    expect(attempt).toThrow(expected);
    expect(attempt).not.toThrow("secret");
  });

  test.each([
    ["messages", '{"arrayValue":{"values":[', "]}}", 49, "at most 100 messages inside one another"],
    ["arrays that nothing asks for", "[", "]", 100_000, "expected an object, found an array"],
  ])("%s inside one another", (_title, open, close, depth, expected) => {
    const body = (count: number) =>
      `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":${open.repeat(count)}${close.repeat(count)}}]}]}]}`;
    expect(() => rowsOf("logs", Buffer.from(body(depth)), "json", 5)).toThrow(expected);
  });

  test("as many as are allowed", () => {
    const nested = `${'{"arrayValue":{"values":['.repeat(48)}${"]}}".repeat(48)}`;
    const body = `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":${nested}}]}]}]}`;
    expect(rowOf("logs", body)["body"]).toBe("[".repeat(48) + "]".repeat(48));
  });
});
