import { crc32 } from "node:zlib";
import type { Side } from "./buffered-events.ts";

/**
 * The log of a join is a sequence of steps: what one batch of its sides has changed. A step is one part or several, of
 * which the last one says so; a step without it was never made durable and does not count. Whole numbers and floats are
 * little-endian:
 *
 *     length of the head (u32) · crc32 of the head after this field (u32) · length of the data (f64) · token (16 bytes) ·
 *     batch clock (f64) · sequence of its first row (f64) · rows (u32) · entries (u32) · bytes of the rows (u32) ·
 *     crc32 of the rows (u32) · flags (u32) · 0 (u32) ·
 *     where each row ends (u32 each) · the entries (40 bytes each): id (f64), time (f64), fingerprint (4 x u32),
 *     length (u32), side (u32)
 *     data: the rows · of each entry its crc32 (u32) and its bytes
 *
 * An entry is an event that is buffered from now on. A right entry replaces the one of its key, and ends the wait of the
 * left entries of its key with smaller ids: it has matched them. So nothing needs to be written where an event leaves.
 */
export const fixedHead = 72;
const entryHead = 40;
/** In the data, before the bytes of an entry. */
export const entryPrefix = 4;
/** No part has more in its head or in its data: what is larger is damage. */
const mostHead = 2 ** 28;
const mostData = 2 ** 31;

const [lastFlag, movedFlag] = [1, 2];

/** An event that is buffered, as a part has it. */
export interface Entry {
  side: Side;
  /** Fingerprint of its key. */
  print: Uint32Array;
  id: number;
  time: number;
  /** Of the event, without the prefix. */
  length: number;
}

export interface PartHead {
  /** Identifies the batch of the step; zeros where the step belongs to none. */
  token: string;
  clock: number;
  firstRow: number;
  rowEnds: Uint32Array;
  rowBytes: number;
  rowsCrc: number;
  entries: EntryTable;
  isLast: boolean;
  /** Its entries were buffered before, and lie here now. */
  isMoved: boolean;
  headLength: number;
  dataLength: number;
}

/** The entries of a part, as bytes. */
export class EntryTable {
  readonly #bytes: Buffer;
  readonly count: number;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.count = bytes.length / entryHead;
  }

  lengthOf(index: number): number {
    return this.#bytes.readUInt32LE(index * entryHead + 32);
  }

  /** Reads an entry into an object that is there, since a log has millions of them. */
  read(index: number, into: Entry): void {
    const [bytes, at] = [this.#bytes, index * entryHead];
    into.id = bytes.readDoubleLE(at);
    into.time = bytes.readDoubleLE(at + 8);
    for (let word = 0; word < 4; word += 1) into.print[word] = bytes.readUInt32LE(at + 16 + 4 * word);
    into.length = bytes.readUInt32LE(at + 32);
    into.side = bytes.readUInt32LE(at + 36) === 1 ? "right" : "left";
  }
}

/** What is written as one part. */
export interface Part extends Pick<PartHead, "token" | "clock" | "firstRow" | "isLast" | "isMoved"> {
  rowEnds: readonly number[];
  /** The rows, in pieces. */
  rows: readonly Buffer[];
  entries: readonly (Entry & { bytes: Buffer })[];
}

/** The bytes of a part, and for each entry the offset of its prefix. */
export function encodePart(part: Part): { bytes: Buffer; offsets: number[] } {
  const { token, clock, firstRow, rowEnds, rows, entries, isLast, isMoved } = part;
  const headLength = fixedHead + 4 * rowEnds.length + entryHead * entries.length;
  const rowBytes = rowEnds.at(-1) ?? 0;
  const dataLength = rowBytes + entries.reduce((sum, { length }) => sum + entryPrefix + length, 0);
  const bytes = Buffer.allocUnsafe(headLength + dataLength);
  let at = headLength;
  for (const piece of rows) at += piece.copy(bytes, at);
  const rowsCrc = crc32(bytes.subarray(headLength, at));
  const offsets = entries.map((entry) => {
    const offset = at;
    at = bytes.writeUInt32LE(crc32(entry.bytes), at);
    at += entry.bytes.copy(bytes, at);
    return offset;
  });
  bytes.writeUInt32LE(headLength, 0);
  bytes.writeDoubleLE(dataLength, 8);
  Buffer.from(token, "hex").copy(bytes.fill(0, 16, 32), 16);
  bytes.writeDoubleLE(clock, 32);
  bytes.writeDoubleLE(firstRow, 40);
  bytes.writeUInt32LE(rowEnds.length, 48);
  bytes.writeUInt32LE(entries.length, 52);
  bytes.writeUInt32LE(rowBytes, 56);
  bytes.writeUInt32LE(rowsCrc, 60);
  bytes.writeUInt32LE((isLast ? lastFlag : 0) | (isMoved ? movedFlag : 0), 64);
  bytes.writeUInt32LE(0, 68);
  let table = fixedHead;
  for (const end of rowEnds) table = bytes.writeUInt32LE(end, table);
  for (const { id, time, print, length, side } of entries) {
    table = bytes.writeDoubleLE(id, table);
    table = bytes.writeDoubleLE(time, table);
    for (let index = 0; index < 4; index += 1) table = bytes.writeUInt32LE(print[index]!, table);
    table = bytes.writeUInt32LE(length, table);
    table = bytes.writeUInt32LE(side === "right" ? 1 : 0, table);
  }
  bytes.writeUInt32LE(crc32(bytes.subarray(8, headLength)), 4);
  return { bytes, offsets };
}

/** How long the head of a part is, by its first bytes; undefined where they begin no part. */
export function headLengthOf(fixed: Buffer): number | undefined {
  const length = fixed.readUInt32LE(0);
  const data = fixed.readDoubleLE(8);
  const whole = fixedHead + 4 * fixed.readUInt32LE(48) + entryHead * fixed.readUInt32LE(52);
  return length === whole && length <= mostHead && data >= 0 && data <= mostData ? length : undefined;
}

/** The head of a part; undefined where it is not as it was written. */
export function decodeHead(head: Buffer): PartHead | undefined {
  if (crc32(head.subarray(8)) !== head.readUInt32LE(4)) return undefined;
  const rows = head.readUInt32LE(48);
  const table = fixedHead + 4 * rows;
  const rowEnds = new Uint32Array(rows);
  for (let index = 0; index < rows; index += 1) rowEnds[index] = head.readUInt32LE(fixedHead + 4 * index);
  const flags = head.readUInt32LE(64);
  return {
    token: head.toString("hex", 16, 32),
    clock: head.readDoubleLE(32),
    firstRow: head.readDoubleLE(40),
    rowEnds,
    rowBytes: head.readUInt32LE(56),
    rowsCrc: head.readUInt32LE(60),
    entries: new EntryTable(head.subarray(table)),
    isLast: (flags & lastFlag) !== 0,
    isMoved: (flags & movedFlag) !== 0,
    headLength: head.length,
    dataLength: head.readDoubleLE(8),
  };
}

/** Whether the data of a part is as it was written. */
export function isWhole({ rowBytes, rowsCrc, entries }: PartHead, data: Buffer): boolean {
  if (!areWholeRows({ rowsCrc }, data.subarray(0, rowBytes))) return false;
  let at = rowBytes;
  for (let index = 0; index < entries.count; index += 1) {
    const length = entries.lengthOf(index);
    if (entryBytes(data, at, length) === undefined) return false;
    at += entryPrefix + length;
  }
  return true;
}

/** Whether the rows of a part are as they were written. */
export function areWholeRows({ rowsCrc }: Pick<PartHead, "rowsCrc">, rows: Buffer): boolean {
  return crc32(rows) === rowsCrc;
}

/** The bytes of an entry whose prefix is at `at`; undefined where they are not as they were written. */
export function entryBytes(data: Buffer, at: number, length: number): Buffer | undefined {
  const bytes = data.subarray(at + entryPrefix, at + entryPrefix + length);
  return bytes.length === length && crc32(bytes) === data.readUInt32LE(at) ? bytes : undefined;
}

/** The head of a segment: what the join was when it was begun. */
export interface SegmentHead {
  /** Identifies keys, windows and sides, 32 hex digits: entries of another shape do not count. */
  shape: string;
  /** The sequence of the next row when it was begun. */
  firstRow: number;
  /** Rows after this one in earlier segments were dropped on purpose. */
  keptUpTo: number;
  /** The time of the last step before it, in milliseconds since the epoch. */
  time: number;
  /** No entry of an earlier segment counts. Such a segment is not removed before the earlier ones are. */
  isFresh: boolean;
}

export const segmentHeadLength = 56;
const magic = Buffer.from("SLJOIN\u0000\u0001", "latin1");

export function encodeSegmentHead({ shape, firstRow, keptUpTo, time, isFresh }: SegmentHead): Buffer {
  const head = Buffer.alloc(segmentHeadLength);
  magic.copy(head);
  Buffer.from(shape, "hex").copy(head, 8, 0, 16);
  head.writeDoubleLE(firstRow, 24);
  head.writeDoubleLE(keptUpTo, 32);
  head.writeDoubleLE(time, 40);
  head.writeUInt32LE(isFresh ? 1 : 0, 48);
  head.writeUInt32LE(crc32(head.subarray(0, 52)), 52);
  return head;
}

/** Undefined where the bytes are not the head of a segment, as it was written. */
export function decodeSegmentHead(head: Buffer): SegmentHead | undefined {
  if (head.length < segmentHeadLength || !head.subarray(0, 8).equals(magic)) return undefined;
  if (crc32(head.subarray(0, 52)) !== head.readUInt32LE(52)) return undefined;
  return {
    shape: head.toString("hex", 8, 24),
    firstRow: head.readDoubleLE(24),
    keptUpTo: head.readDoubleLE(32),
    time: head.readDoubleLE(40),
    isFresh: head.readUInt32LE(48) === 1,
  };
}
