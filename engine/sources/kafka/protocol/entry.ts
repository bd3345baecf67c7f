import { Unreadable } from "./unreadable.ts";

/** Offset and length: what stands before that which the length counts. */
export const prefixBytes = 12;
/** Records of every format have their magic byte, the number of the format, in one place. */
const magicAt = 16;

/** A record batch of format 2, or a message of format 0 or 1, in the records of a partition. */
export interface Entry {
  start: number;
  end: number;
  /** Of a batch its first offset, of a message its own, and of messages compressed together the last. */
  offset: number;
  format: number;
}

/** The entry at a place; undefined if the bytes end before it does, as a broker may cut the last one. */
export function entryAt(bytes: Buffer, start: number): Entry | undefined {
  if (bytes.length - start < prefixBytes) return undefined;
  const length = bytes.readInt32BE(start + 8);
  const least = magicAt + 1 - prefixBytes;
  if (length < least) throw new Unreadable(`expected a batch of at least ${least} bytes, found a length of ${length}`);
  const end = start + prefixBytes + length;
  if (end > bytes.length) return undefined;
  return { start, end, offset: offsetAt(bytes, start), format: bytes.readInt8(start + magicAt) };
}

/** Offsets above it are refused: a number would not hold those of a batch behind it exactly. */
const mostOffset = 2 ** 53 - 2 ** 32;

/** An offset as a number. */
export function offsetAt(bytes: Buffer, at: number): number {
  const offset = bytes.readInt32BE(at) * 2 ** 32 + bytes.readUInt32BE(at + 4);
  if (Math.abs(offset) <= mostOffset) return offset;
  throw new Unreadable(`expected an offset of at most ${mostOffset}, found ${bytes.readBigInt64BE(at)}`);
}
