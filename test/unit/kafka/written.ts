import * as zlib from "node:zlib";
import { compress as compressZstd } from "@bokuweb/zstd-wasm";
import { compressFrameSync } from "lz4-napi";
import { compressSync as compressSnappy } from "snappy";
import { Codecs } from "../../../engine/sources/kafka/protocol/codecs.ts";
import type { FetchedPartition } from "../../../engine/sources/kafka/protocol/fetch-response.ts";

// Kafka's bytes, written by hand from the protocol, so that what reads them is compared with something else than itself.

export const int8 = (value: number): Buffer => Buffer.from([value & 0xff]);

export function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

export function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

export function int64(value: number | bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(value));
  return bytes;
}

export function varint(value: number | bigint): Buffer {
  const bytes: number[] = [];
  let raw = BigInt.asUintN(64, (BigInt(value) << 1n) ^ (BigInt(value) >> 63n));
  for (; raw >= 0x80n; raw >>= 7n) bytes.push(Number(raw & 0x7fn) | 0x80);
  bytes.push(Number(raw));
  return Buffer.from(bytes);
}

/** Bytes after their length as a varint, as keys and values of format 2 are. */
const sized = (bytes: Buffer | null): Buffer =>
  bytes === null ? varint(-1) : Buffer.concat([varint(bytes.length), bytes]);

/** Bytes after their length in four bytes, as keys and values of formats 0 and 1 are. */
const sized32 = (bytes: Buffer | null): Buffer =>
  bytes === null ? int32(-1) : Buffer.concat([int32(bytes.length), bytes]);

export interface WrittenRecord {
  /** Offset, counted from the first of the batch. */
  delta: number;
  value: Buffer | null;
  key?: Buffer | null;
  headers?: [string, Buffer | null][];
  /** Milliseconds since the first record of the batch. */
  time?: number | bigint;
}

export function recordBytes({ delta, value, key = null, headers = [], time = delta }: WrittenRecord): Buffer {
  const body = Buffer.concat([
    int8(0),
    varint(time),
    varint(delta),
    sized(key),
    sized(value),
    varint(headers.length),
    ...headers.flatMap(([name, header]) => [sized(Buffer.from(name)), sized(header)]),
  ]);
  return Buffer.concat([varint(body.length), body]);
}

export interface WrittenBatch {
  baseOffset?: number;
  records?: WrittenRecord[];
  /** As compaction leaves it: the batch keeps its last offset without the record. */
  lastDelta?: number;
  codec?: number;
  compress?: (bytes: Buffer) => Buffer;
  isTransactional?: boolean;
  isControl?: boolean;
  producerId?: number;
  count?: number;
}

export function batchBytes(batch: WrittenBatch): Buffer {
  const { baseOffset = 0, records = [], codec = 0, producerId = -1 } = batch;
  const { lastDelta = records.at(-1)?.delta ?? 0, compress = compressors[codec]!, count = records.length } = batch;
  const attributes = codec | (batch.isTransactional === true ? 0x10 : 0) | (batch.isControl === true ? 0x20 : 0);
  const rest = Buffer.concat([
    int32(7),
    int8(2),
    int32(0),
    int16(attributes),
    int32(lastDelta),
    int64(1_700_000_000_000),
    int64(1_700_000_000_000),
    int64(producerId),
    int16(0),
    int32(0),
    int32(count),
    compress(Buffer.concat(records.map(recordBytes))),
  ]);
  return Buffer.concat([int64(baseOffset), int32(rest.length), rest]);
}

/** A mark that a transaction ended: the key is a version and a kind. */
export function markBytes(offset: number, producerId: number, kind: "abort" | "commit", codec = 0): Buffer {
  const key = Buffer.concat([int16(0), int16(kind === "abort" ? 0 : 1)]);
  const records = [{ delta: 0, key, value: Buffer.concat([int16(0), int32(0)]) }];
  return batchBytes({ baseOffset: offset, records, isTransactional: true, isControl: true, producerId, codec });
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
  return { topic: "orders", partition: 3, errorCode: 0, ...offsets, abortedTransactions: [], records, ...more };
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
    ...(version >= 11 ? [int32(-1)] : []),
    sized32(one.records),
  ]);
}

const text16 = (text: string): Buffer => Buffer.concat([int16(Buffer.byteLength(text)), Buffer.from(text)]);
