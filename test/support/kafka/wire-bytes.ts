// Kafka's bytes, written by hand from the protocol, so that what reads them is compared with something else than itself.

export const int8 = (value: number): Buffer => Buffer.from([value & 0xff]);

export function int16(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(2);
  bytes.writeInt16BE(value);
  return bytes;
}

export function int32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeInt32BE(value);
  return bytes;
}

export function int64(value: number | bigint): Buffer {
  const bytes = Buffer.allocUnsafe(8);
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

/** A text after its length in two bytes. */
export const text16 = (text: string): Buffer => Buffer.concat([int16(Buffer.byteLength(text)), Buffer.from(text)]);

/** Bytes after their length in four bytes, as keys and values of formats 0 and 1 are. */
export const sized32 = (bytes: Buffer | null): Buffer =>
  bytes === null ? int32(-1) : Buffer.concat([int32(bytes.length), bytes]);

/** Bytes after their length as a varint, as keys and values of format 2 are. */
const sized = (bytes: Buffer | null): Buffer =>
  bytes === null ? varint(-1) : Buffer.concat([varint(bytes.length), bytes]);

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

export interface PlainBatch {
  baseOffset?: number;
  records?: WrittenRecord[];
  /** As compaction leaves it: the batch keeps its last offset without the record. */
  lastDelta?: number;
  isTransactional?: boolean;
  isControl?: boolean;
  producerId?: number;
  /** The election in which it was written. */
  epoch?: number;
  count?: number;
  /** When its first record was written, in milliseconds since the epoch. */
  time?: number;
}

/** How the records of a batch are compressed. */
export interface Compression {
  codec: number;
  compress: (bytes: Buffer) => Buffer;
}

const uncompressed: Compression = { codec: 0, compress: (bytes) => bytes };

export function plainBatchBytes(batch: PlainBatch, { codec, compress } = uncompressed): Buffer {
  const { baseOffset = 0, records = [], producerId = -1, epoch = 7, time = 1_700_000_000_000 } = batch;
  const { lastDelta = records.at(-1)?.delta ?? 0, count = records.length } = batch;
  const attributes = codec | (batch.isTransactional === true ? 0x10 : 0) | (batch.isControl === true ? 0x20 : 0);
  const rest = Buffer.concat([
    int32(epoch),
    int8(2),
    int32(0),
    int16(attributes),
    int32(lastDelta),
    int64(time),
    int64(time),
    int64(producerId),
    int16(0),
    int32(0),
    int32(count),
    compress(Buffer.concat(records.map(recordBytes))),
  ]);
  return Buffer.concat([int64(baseOffset), int32(rest.length), rest]);
}

/** A mark that a transaction ended: the key is a version and a kind. */
export function markBatch(offset: number, producerId: number, kind: "abort" | "commit"): PlainBatch {
  const key = Buffer.concat([int16(0), int16(kind === "abort" ? 0 : 1)]);
  const records = [{ delta: 0, key, value: Buffer.concat([int16(0), int32(0)]) }];
  return { baseOffset: offset, records, isTransactional: true, isControl: true, producerId };
}
