import { isUtf8 } from "node:buffer";
import { gzipSync } from "node:zlib";
import type { Signal } from "../../engine/core/push.ts";
import { rowsOf } from "../../engine/sources/otlp/rows/rows.ts";
import type { Random } from "../support/random.ts";
import { mutatedText, randomMessage, spelled, wireOfMessage } from "./otlp-json.ts";
import { referenceRows } from "./otlp-reference.ts";
import { mutated, randomRequest } from "./otlp-wire.ts";

/** The body of a request, and what is known of it by how it was made. */
export interface MadeBody {
  signal: Signal;
  encoding: "protobuf" | "json";
  bytes: Buffer;
  /** Rows that it holds; undefined for a malformed one. */
  rows: number | undefined;
  /** How many of them have bytes that are no UTF-8, and so become dead letters. */
  letters: number;
}

export const signals = ["logs", "traces", "metrics"] as const satisfies readonly Signal[];

/** A good request in protobuf, mostly with rows. */
export function protobufBody(random: Random): MadeBody {
  for (let tries = 1; ; tries += 1) {
    const signal = random.pick(...signals);
    const bytes = wireOfMessage(signal, randomMessage(signal, random));
    const rows = referenceRows(signal, bytes)!.length;
    if (rows > 0 || tries === 10)
      return { signal, encoding: "protobuf", bytes, rows, letters: lettersIn(signal, bytes) };
  }
}

/** Whether it is malformed says protobufjs. */
export function mutatedBody(random: Random): MadeBody {
  const made = protobufBody(random);
  const { signal } = made;
  const bytes = mutated(random.below(2) === 0 ? made.bytes : randomRequest(signal, random), random);
  const rows = referenceRows(signal, bytes)?.length;
  return { ...made, bytes, rows, letters: rows === undefined ? 0 : lettersIn(signal, bytes) };
}

/** The rows of a good request whose bytes are no UTF-8; `otlp.test.ts` holds rows against protobufjs. */
function lettersIn(signal: Signal, body: Buffer): number {
  const { bytes, ends } = rowsOf(signal, body, "protobuf", 0);
  return ends.filter((end, index) => !isUtf8(bytes.subarray(ends[index - 1] ?? 0, end))).length;
}

/** A good request in JSON, mostly with rows: how many says protobufjs of the same in protobuf. */
export function jsonBody(random: Random): MadeBody {
  for (let tries = 1; ; tries += 1) {
    const signal = random.pick(...signals);
    const message = randomMessage(signal, random);
    const rows = referenceRows(signal, wireOfMessage(signal, message))!.length;
    const bytes = Buffer.from(spelled(signal, message, random));
    if (rows > 0 || tries === 10) return { signal, encoding: "json", bytes, rows, letters: 0 };
  }
}

/** Text that is no JSON for `JSON.parse` either. */
export function brokenBody(random: Random): MadeBody {
  const made = jsonBody(random);
  return { ...made, bytes: Buffer.from(broken(made.bytes.toString(), random)), rows: undefined };
}

function broken(text: string, random: Random): string {
  for (let changed = text, tries = 0; tries < 20; tries += 1) {
    changed = mutatedText(changed, random);
    if (!isJson(changed)) return changed;
  }
  return `${text}]`;
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** JSON of another shape than a request has. */
export function misshapenBody(random: Random): MadeBody {
  const signal = random.pick(...signals);
  const item = random.pick(...misshapen[signal]);
  const text = random.below(4) === 0 ? random.pick(...misshapenRoots[signal]) : inRequest[signal](item);
  return { signal, encoding: "json", bytes: Buffer.from(text), rows: undefined, letters: 0 };
}

const inRequest: Readonly<Record<Signal, (item: string) => string>> = {
  logs: (item) => `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{},${item}]}]}]}`,
  traces: (item) => `{"resourceSpans":[{"scopeSpans":[{"spans":[{},${item}]}]}]}`,
  metrics: (item) => `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{},${item}]}]}]}`,
};

const deep = `${'{"arrayValue":{"values":['.repeat(300)}${"]}}".repeat(300)}`;
const anywhere = ["1", '"text"', "[]", "true"];

const misshapen: Readonly<Record<Signal, readonly string[]>> = {
  logs: [
    ...anywhere,
    '{"timeUnixNano":true}',
    '{"timeUnixNano":-1}',
    '{"timeUnixNano":"18446744073709551616"}',
    '{"severityNumber":"NO_SUCH_LEVEL"}',
    '{"severityText":7}',
    '{"traceId":"0g"}',
    '{"spanId":"abc"}',
    '{"flags":4294967296}',
    '{"body":"text"}',
    '{"body":{"boolValue":1}}',
    '{"attributes":{"a":"b"}}',
    '{"attributes":[{"key":1}]}',
    '{"attributes":[null]}',
    `{"body":${deep}}`,
  ],
  traces: [
    ...anywhere,
    '{"name":{}}',
    '{"kind":1.5}',
    '{"kind":"SERVER_OF_MINE"}',
    '{"events":{}}',
    '{"links":[{"spanId":"xyz"}]}',
    '{"status":[]}',
    '{"status":{"code":"GOOD"}}',
    '{"startTimeUnixNano":1e400}',
    '{"droppedLinksCount":-1}',
  ],
  metrics: [
    ...anywhere,
    '{"gauge":[]}',
    '{"gauge":{"dataPoints":[{"asDouble":"abc"}]}}',
    '{"gauge":{"dataPoints":[{"asInt":1.5}]}}',
    '{"sum":{"isMonotonic":"yes"}}',
    '{"histogram":{"dataPoints":[{"bucketCounts":[-1]}]}}',
    '{"histogram":{"dataPoints":[{"explicitBounds":[null]}]}}',
    '{"exponentialHistogram":{"dataPoints":[{"scale":2147483648}]}}',
    '{"summary":{"dataPoints":{}}}',
  ],
};

const misshapenRoots: Readonly<Record<Signal, readonly string[]>> = {
  logs: ["", "[]", "null", "7", '"resourceLogs"', '{"resourceLogs":{}}', '{"resourceLogs":[[]]}'],
  traces: ["", "[]", "null", '{"resourceSpans":"x"}', '{"resourceSpans":[{"scopeSpans":{}}]}'],
  metrics: ["", "[]", "null", '{"resourceMetrics":1}', '{"resourceMetrics":[{"resource":[]}]}'],
};

/** A log record with a text, in as many bytes as wished. */
export function logsOf(bytes: number): Buffer {
  const text = Buffer.alloc(bytes - 4 * 5, "x");
  return given(1, given(2, given(2, given(3, text))));
}

/** Few bytes of resource attributes that come again in so many rows that these are more than one request may be. */
export function growingLogs(): Buffer {
  const attribute = Buffer.concat([given(1, Buffer.from("a")), given(2, given(1, Buffer.alloc(200_000, "x")))]);
  const records = Buffer.alloc(200_000, Buffer.from([0x12, 0x00]));
  return given(1, Buffer.concat([given(1, given(1, attribute)), given(2, records)]));
}

/** A field of protobuf; its length always in four bytes. */
function given(id: number, content: Buffer): Buffer {
  const { length } = content;
  const bytes = [length & 0x7f, (length >> 7) & 0x7f, (length >> 14) & 0x7f];
  return Buffer.concat([Buffer.from([(id << 3) | 2, ...bytes.map((byte) => byte | 0x80), length >> 21]), content]);
}

/** Gzip of a few KiB that holds many MiB. */
export const bombs: readonly Buffer[] = [
  gzipSync(Buffer.alloc(64 * 1024 * 1024)),
  gzipSync(Buffer.alloc(8 * 1024 * 1024, " ")),
];
