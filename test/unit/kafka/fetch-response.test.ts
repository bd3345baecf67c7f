import { expect, test } from "vitest";
import { decodeFetchResponse } from "../../../engine/sources/kafka/protocol/fetch.ts";
import { Unreadable } from "../../../engine/sources/kafka/protocol/unreadable.ts";
import { batchBytes, fetched, int16, int32, int64, numbered, responseBytes } from "./written.ts";

const versions = [4, 5, 6, 7, 8, 9, 10, 11];
const records = batchBytes({ records: numbered(3) });
const partitions = [
  fetched(records, {
    partition: 0,
    highWatermark: 2 ** 40,
    lastStableOffset: 2 ** 40 - 1,
    logStartOffset: 12,
    abortedTransactions: [
      { producerId: 2n ** 62n, firstOffset: 3 },
      { producerId: 5n, firstOffset: 2 ** 41 },
    ],
  }),
  fetched(Buffer.alloc(0), { partition: 1, errorCode: 6, highWatermark: -1, lastStableOffset: -1, logStartOffset: -1 }),
];

test.each(versions)("version %i", (version) => {
  const payload = responseBytes(version, partitions, "órdenes");
  const response = decodeFetchResponse(payload, version);
  expect(response).toEqual({
    clientSideThrottleTime: version >= 8 ? 5 : 0,
    throttleTime: 5,
    errorCode: 0,
    sessionId: version >= 7 ? 77 : 0,
    partitions: partitions.map((one) => ({
      ...one,
      topic: "órdenes",
      logStartOffset: version >= 5 ? one.logStartOffset : -1,
    })),
  });
  expect(response.partitions[0]!.records.buffer).toBe(payload.buffer);
});

test("null lists and null records are empty", () => {
  const none = Buffer.concat([int32(0), int32(-1)]);
  expect(decodeFetchResponse(none, 4).partitions).toEqual([]);
  const head = Buffer.concat([
    int32(0),
    int32(1),
    int16(1),
    Buffer.from("t"),
    int32(1),
    int32(9),
    int16(0),
    int64(1),
    int64(1),
  ]);
  const [one] = decodeFetchResponse(Buffer.concat([head, int32(-1), int32(-1)]), 4).partitions;
  expect(one).toMatchObject({ topic: "t", partition: 9, abortedTransactions: [], records: Buffer.alloc(0) });
});

test("an error of the whole answer", () => {
  const payload = Buffer.concat([int32(0), int16(71), int32(0), int32(0)]);
  expect(decodeFetchResponse(payload, 11)).toMatchObject({ errorCode: 71, partitions: [] });
});

test.each(versions)("version %i, cut at any byte, is an error that says where", (version) => {
  const payload = responseBytes(version, partitions);
  for (let length = 0; length < payload.length; length += 1) {
    const decode = (): unknown => decodeFetchResponse(payload.subarray(0, length), version);
    expect(decode).toThrow(Unreadable);
    expect(decode).toThrow(/^fetch response, byte \d+, [a-z ]+: expected [a-z0-9 ]+, found [a-z0-9 ]+$/);
  }
});

test("bytes behind the end are those of another version", () => {
  const payload = Buffer.concat([responseBytes(11, partitions), Buffer.alloc(3)]);
  expect(() => decodeFetchResponse(payload, 11)).toThrow("end: expected no more bytes, found 3");
});

test.each([3, 12, 4.5, Number.NaN])("version %d is not read", (version) => {
  expect(() => decodeFetchResponse(responseBytes(11, partitions), version)).toThrow(
    `expected a fetch response of version 4 to 11, found ${version}`,
  );
});

const upTo = (more: Buffer[]): Buffer => Buffer.concat([int32(0), int32(1), ...more]);
const topic = [int16(1), Buffer.from("t"), int32(1)];
const partition = [int32(0), int16(0), int64(1), int64(1)];

test.each<[string, Buffer, string]>([
  [
    "more topics than bytes",
    Buffer.concat([int32(0), int32(2 ** 31 - 1)]),
    "byte 8, topics: expected a list within 0 bytes, found a length of 2147483647",
  ],
  [
    "fewer than no topics",
    Buffer.concat([int32(0), int32(-2)]),
    "topics: expected a list within 0 bytes, found a length of -2",
  ],
  ["no name of the topic", upTo([int16(-1)]), "topic: expected a text, found null"],
  ["a name beyond the bytes", upTo([int16(500), Buffer.from("t")]), "topic: expected 500 bytes, found 1"],
  [
    "an offset beyond 2^53",
    upTo([...topic, int32(0), int16(0), int64(2n ** 60n)]),
    "high watermark: expected a number of at most 53 bits, found 1152921504606846976",
  ],
  [
    "more transactions than bytes",
    upTo([...topic, ...partition, int32(100), int64(1)]),
    "aborted transactions: expected a list within 8 bytes, found a length of 100",
  ],
  [
    "records beyond the bytes",
    upTo([...topic, ...partition, int32(0), int32(100), int64(1)]),
    "records: expected 100 bytes, found 8",
  ],
  [
    "records of a negative length",
    upTo([...topic, ...partition, int32(0), int32(-5)]),
    "records: expected bytes, found a length of -5",
  ],
])("%s is an error", (_title, payload, message) => {
  expect(() => decodeFetchResponse(payload, 4)).toThrow(message);
});
