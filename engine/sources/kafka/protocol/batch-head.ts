import { Unreadable } from "./unreadable.ts";

/** Offset and length, the bytes before those that the length counts. */
export const prefixBytes = 12;
/** The place of the magic byte, the number of the format, which all formats share. */
const magicAt = 16;

/** A record batch of format 2, or a message of format 0 or 1, in the records of a partition. */
export interface Entry {
  start: number;
  end: number;
  /** The first offset of a batch, the offset of a message, or the last offset of messages compressed together. */
  offset: number;
  format: number;
}

/** The entry at a place; undefined if it is cut off, as a broker may cut the last one. */
export function entryAt(bytes: Buffer, start: number): Entry | undefined {
  if (bytes.length - start < prefixBytes) return undefined;
  const length = bytes.readInt32BE(start + 8);
  const least = magicAt + 1 - prefixBytes;
  if (length < least) throw new Unreadable(`expected a batch of at least ${least} bytes, found a length of ${length}`);
  const end = start + prefixBytes + length;
  if (end > bytes.length) return undefined;
  return { start, end, offset: offsetAt(bytes, start), format: bytes.readInt8(start + magicAt) };
}

/** Greater offsets are refused: a number would not hold the offsets of such a batch exactly. */
const mostOffset = 2 ** 53 - 2 ** 32;

/** An offset as a number. */
export function offsetAt(bytes: Buffer, at: number): number {
  const offset = bytes.readInt32BE(at) * 2 ** 32 + bytes.readUInt32BE(at + 4);
  if (Math.abs(offset) <= mostOffset) return offset;
  throw new Unreadable(`expected an offset of at most ${mostOffset}, found ${bytes.readBigInt64BE(at)}`);
}

/** When the newest record of a batch of format 2 was written, in ms since the epoch; undefined where nobody says it. */
export function newestTime(bytes: Buffer, { start }: Entry): number | undefined {
  const time = bytes.readInt32BE(start + 35) * 2 ** 32 + bytes.readUInt32BE(start + 39);
  return time < 0 ? undefined : time;
}

/** Bytes from the start of a batch to its first record. */
const headBytes = 61;

/** The fields before the records of a batch of format 2. */
export interface BatchHead {
  baseOffset: number;
  /** The offset of its last record when it was written. Compaction may have removed that record. */
  lastOffset: number;
  /** Counts the elections of the partition: the leadership in which it was written; undefined where it is not known. */
  epoch: number | undefined;
  /** A number of `codecNames`. */
  codec: number;
  isTransactional: boolean;
  /** It holds no events, but a mark that a transaction ended, or another control record. */
  isControl: boolean;
  /** The producer; -1 where it is neither idempotent nor transactional. */
  producerId: bigint;
  count: number;
  /** Where its records are, still compressed. */
  start: number;
  end: number;
}

/**
 * The checksum (CRC32C, over all after it) is not checked: in JavaScript that costs a hundred times what reading the
 * records does (2 us for 1.5 KB), the connection has a checksum of its own, and brokers check it when they take a batch.
 */
export function batchHead(bytes: Buffer, { start, end, offset }: Entry): BatchHead {
  if (end - start < headBytes) {
    const [least, found] = [headBytes - prefixBytes, end - start - prefixBytes];
    throw new Unreadable(`expected a batch of at least ${least} bytes, found a length of ${found}`);
  }
  const epoch = bytes.readInt32BE(start + prefixBytes);
  const attributes = bytes.readInt16BE(start + 21);
  const lastDelta = bytes.readInt32BE(start + 23);
  const count = bytes.readInt32BE(start + 57);
  if (offset < 0 || lastDelta < 0 || count < 0) {
    const found = `offset ${offset}, ${lastDelta} to the last offset, ${count} records`;
    throw new Unreadable(`expected the numbers of a batch not to be negative, found ${found}`);
  }
  return {
    baseOffset: offset,
    lastOffset: offset + lastDelta,
    epoch: epoch < 0 ? undefined : epoch,
    codec: attributes & 0x07,
    isTransactional: (attributes & 0x10) !== 0,
    isControl: (attributes & 0x20) !== 0,
    producerId: bytes.readBigInt64BE(start + 43),
    count,
    start: start + headBytes,
    end,
  };
}
