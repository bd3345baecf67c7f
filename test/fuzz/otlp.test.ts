import { isUtf8 } from "node:buffer";
import { expect, test } from "vitest";
import type { Push, Signal } from "../../engine/core/push.ts";
import { MalformedRequest } from "../../engine/sources/otlp/protobuf/wire.ts";
import { metricKinds } from "../../engine/sources/otlp/rows/metric-kinds.ts";
import { rowsOf } from "../../engine/sources/otlp/rows/rows.ts";
import { Random } from "../support/random.ts";
import { receivedAt, rowJson } from "./otlp-flatten.ts";
import { mutatedText, randomMessage, spelled, wireOfMessage } from "./otlp-json.ts";
import { referenceRows } from "./otlp-reference.ts";
import { mutated, randomRequest } from "./otlp-wire.ts";
import { seed, triesOf } from "./tries.ts";

const runs = triesOf(200);
const patience = { timeout: 60_000 + runs * 30 };

const kinds = metricKinds.map(({ name }) => name);

function rowsOrRefusal(signal: Signal, body: Buffer, encoding: "protobuf" | "json", isKept = false): Push | undefined {
  try {
    return rowsOf(signal, body, encoding, receivedAt, {}, { keptAsNull: isKept ? kinds : [] });
  } catch (error) {
    if (error instanceof MalformedRequest) return undefined;
    throw error;
  }
}

function texts({ bytes, ends }: Push): string[] {
  return ends.map((end, index) => bytes.toString("utf8", ends[index - 1] ?? 0, end));
}

/**
 * Whether a row becomes a dead letter, as it has bytes that are no UTF-8: two of its keys may read as one text, which is one key
 * of the plain objects.
 */
function isLetter({ bytes, ends }: Push, index: number): boolean {
  return !isUtf8(bytes.subarray(ends[index - 1] ?? 0, ends[index]));
}

test("from the bytes come the rows that protobufjs and plain objects make, or both refuse", patience, () => {
  const met = { rows: 0, refused: 0, taken: 0 };
  for (let run = 0; run < runs; run += 1) {
    const random = new Random(seed + run);
    const signal = random.pick<Signal>("logs", "traces", "metrics");
    const request = randomRequest(signal, random);
    const body = random.below(2) === 0 ? request : mutated(request, random);
    const isKept = random.below(2) === 0;
    const expected = referenceRows(signal, body, isKept)?.map(rowJson);
    const push = rowsOrRefusal(signal, body, "protobuf", isKept);
    const name = `FUZZ_SEED=${seed + run} ${signal} ${body.toString("hex").slice(0, 2000)}`;
    const found = push && texts(push);
    expect(
      found?.map((text, index) => (isLetter(push!, index) ? expected?.[index] : text)),
      name,
    ).toEqual(expected);
    if (push === undefined) met.refused += 1;
    else met.taken += 1;
    met.rows += push?.ends.length ?? 0;
  }
  // Else the requests were all alike, and nothing was tested.
  for (const count of Object.values(met)) expect(count).toBeGreaterThan(runs / 20);
});

test("a request in JSON becomes the rows that it becomes in protobuf, however it is spelled", patience, () => {
  let rows = 0;
  for (let run = 0; run < runs / 3; run += 1) {
    const random = new Random(seed + run);
    const signal = random.pick<Signal>("logs", "traces", "metrics");
    const message = randomMessage(signal, random);
    const json = spelled(signal, message, random);
    const push = rowsOf(signal, Buffer.from(json), "json", receivedAt);
    const expected = rowsOf(signal, wireOfMessage(signal, message), "protobuf", receivedAt);
    expect(texts(push), `FUZZ_SEED=${seed + run} ${signal} ${json.slice(0, 2000)}`).toEqual(texts(expected));
    rows += push.ends.length;
  }
  expect(rows).toBeGreaterThan(runs / 10);
});

test("JSON that is broken becomes rows that are JSON, or is refused as malformed", patience, () => {
  const met = { refused: 0, taken: 0 };
  for (let run = 0; run < runs; run += 1) {
    const random = new Random(seed + run);
    const signal = random.pick<Signal>("logs", "traces", "metrics");
    const json = mutatedText(spelled(signal, randomMessage(signal, random), random), random);
    const push = rowsOrRefusal(signal, Buffer.from(json), "json");
    if (push === undefined) met.refused += 1;
    else met.taken += 1;
    for (const text of push === undefined ? [] : texts(push)) expect(() => JSON.parse(text), json).not.toThrow();
  }
  for (const count of Object.values(met)) expect(count).toBeGreaterThan(runs / 20);
});
