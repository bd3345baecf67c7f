import * as zlib from "node:zlib";
import { compress as compressZstd } from "@bokuweb/zstd-wasm";
import { compressFrameSync } from "lz4-napi";
import { compressSync as compressSnappy } from "snappy";
import { Codecs } from "../../../engine/sources/kafka/protocol/codecs.ts";
import type { FetchedPartition } from "../../../engine/sources/kafka/protocol/fetch.ts";
import {
  int16,
  int32,
  int64,
  int8,
  markBatch,
  plainBatchBytes,
  sized32,
  text16,
  type PlainBatch,
  type WrittenRecord,
} from "../../support/kafka/wire-bytes.ts";

export { int8, int16, int32, int64, recordBytes, varint } from "../../support/kafka/wire-bytes.ts";
export type { WrittenRecord } from "../../support/kafka/wire-bytes.ts";

// What the tests of the decoders need beside the bytes that every stand-in of a broker writes: all codecs, old formats.

export interface WrittenBatch extends PlainBatch {
  codec?: number;
  compress?: (bytes: Buffer) => Buffer;
}

export function batchBytes({ codec = 0, compress = compressors[codec]!, ...batch }: WrittenBatch): Buffer {
  return plainBatchBytes(batch, { codec, compress });
}

/** A mark that a transaction ended. */
export function markBytes(offset: number, producerId: number, kind: "abort" | "commit", codec = 0): Buffer {
  return batchBytes({ ...markBatch(offset, producerId, kind), codec });
}

export interface WrittenMessage {
  offset: number;
  format: 0 | 1;
  value: Buffer | null;
  key?: Buffer | null;
  codec?: number;
}

export function messageBytes({ offset, format, value, key = null, codec = 0 }: WrittenMessage): Buffer {
  const time = format === 1 ? int64(1_700_000_000_000) : Buffer.alloc(0);
  const rest = Buffer.concat([int32(0), int8(format), int8(codec), time, sized32(key), sized32(value)]);
  return Buffer.concat([int64(offset), int32(rest.length), rest]);
}

/** Values "0", "1" and on, at offsets from `first` on. */
export function numbered(count: number, first = 0): WrittenRecord[] {
  return Array.from({ length: count }, (_, at) => ({ delta: at, value: Buffer.from(String(first + at)) }));
}

/** Snappy as Java writes it: a head, then blocks after their length. */
export function javaSnappy(bytes: Buffer, blockSize = 32_768): Buffer {
  const parts = [Buffer.from("\x82SNAPPY\0", "latin1"), int32(1), int32(1)];
  for (let at = 0; at < bytes.length; at += blockSize) {
    const block = compressSnappy(bytes.subarray(at, at + blockSize));
    parts.push(int32(block.length), block);
  }
  return Buffer.concat(parts);
}

// Initialises the WebAssembly library where Node has no zstd itself: it bears that only once.
await Codecs.load();

export function zstd(bytes: Buffer): Buffer {
  const native = (zlib as { zstdCompressSync?: (bytes: Buffer) => Buffer }).zstdCompressSync;
  return native === undefined ? Buffer.from(compressZstd(bytes, 3)) : native(bytes);
}

/** By the number of the codec. */
export const compressors: ((bytes: Buffer) => Buffer)[] = [
  (bytes) => bytes,
  (bytes) => zlib.gzipSync(bytes),
  (bytes) => javaSnappy(bytes),
  (bytes) => compressFrameSync(bytes),
  zstd,
];

/** A partition as a fetch brings it. */
export function fetched(records: Buffer, more: Partial<FetchedPartition> = {}): FetchedPartition {
  const offsets = { highWatermark: 1000, lastStableOffset: 1000, logStartOffset: 0 };
  return {
    topic: "orders",
    partition: 3,
    errorCode: 0,
    ...offsets,
    abortedTransactions: [],
    preferredReplica: -1,
    records,
    ...more,
  };
}

/** A response as a broker of a version writes it, of these partitions by their topics, or all of one `topic`. */
export function responseBytes(version: number, partitions: readonly FetchedPartition[], topic?: string): Buffer {
  const head = version >= 7 ? [int16(0), int32(77)] : [];
  const byTopic = new Map<string, Buffer[]>(partitions.length === 0 ? [[topic ?? "orders", []]] : []);
  for (const partition of partitions) {
    const name = topic ?? partition.topic;
    byTopic.set(name, [...(byTopic.get(name) ?? []), partitionBytes(version, partition)]);
  }
  const topics = Array.from(byTopic, ([name, own]) => Buffer.concat([text16(name), int32(own.length), ...own]));
  return Buffer.concat([int32(5), ...head, int32(topics.length), ...topics]);
}

function partitionBytes(version: number, one: FetchedPartition): Buffer {
  const aborted = one.abortedTransactions.flatMap(({ producerId, firstOffset }) => [
    int64(producerId),
    int64(firstOffset),
  ]);
  return Buffer.concat([
    int32(one.partition),
    int16(one.errorCode),
    int64(one.highWatermark),
    int64(one.lastStableOffset),
    ...(version >= 5 ? [int64(one.logStartOffset)] : []),
    int32(one.abortedTransactions.length),
    ...aborted,
    ...(version >= 11 ? [int32(one.preferredReplica)] : []),
    sized32(one.records),
  ]);
}
