import { setImmediate } from "node:timers/promises";
import { crc32 } from "node:zlib";
import { Event } from "../../event/event.ts";
import type { Push, Signal } from "../../core/push.ts";

/**
 * A frame holds one push. Its checksum covers all of it, so that after a torn write it is valid as a whole or not at
 * all. Whole numbers and floats are little-endian:
 *
 *     length of what follows the checksum (u32) · its crc32 (u32) · sequence of its first event (f64) ·
 *     received at, ms (f64) · number of events (u24) · signal (u8) · events of its group before it (u32) ·
 *     where each event ends (u32 each) · the events
 *
 * A group is the pushes of one write and one sync: it shows which sequences were durable before a frame was written. A
 * frame without events closes a segment (see `segment.ts`); what follows its header is an index then.
 *
 * In format 1 a frame held one event: length of it (u32) · crc32 (u32) · received at (f64) · the event.
 */
export type Format = 1 | 2;

const oldHeader = 16;
const header = 32;
/** No frame is larger than this, in bytes, or holds more events. */
export const largestFrame = 2 ** 26;
export const mostEvents = 2 ** 24 - 1;

/** Bytes of a long frame that are written without a pause. */
export const longStep = 4 * 1024 * 1024;

/** Signals by their number in a frame. */
const signals: readonly (Signal | undefined)[] = [undefined, "logs", "traces", "metrics"];

export interface Frame {
  kind: "frame";
  /** Sequence of its first event, and how many it holds. */
  first: number;
  count: number;
  receivedAt: number;
  signal: Signal | undefined;
  /** The first sequence of its group: everything before was durable when it was written. */
  group: number;
  /** The offset after it in the bytes that it was read from. */
  end: number;
  bytes: Buffer;
  /** The offsets of its table of ends and of its events; without a table it holds one event. */
  table: number | undefined;
  start: number;
}

/** Closes a segment: no event follows. */
export interface Closing {
  kind: "closing";
  first: number;
  index: Buffer;
  end: number;
}

/** `short`: `needed` bytes are needed. `torn`: the checksum is wrong. */
export type Reading = Frame | Closing | { kind: "short"; needed: number } | { kind: "torn" };

/** Bytes that a push takes on disk. */
export function frameSize({ bytes, ends }: Push): number {
  return header + 4 * ends.length + bytes.length;
}

/** Writes the frame of a push at `offset`; returns the offset after it. */
export function writeFrame(
  target: Buffer,
  offset: number,
  push: Push,
  place: { first: number; group: number },
): number {
  const { bytes } = push;
  const start = writeEnds(target, offset, push);
  bytes.copy(target, start);
  return seal(target, offset, start + bytes.length, headOf(push, place));
}

/**
 * The frame of a push of many bytes, in two parts, of which the second is the push's own memory. Other work goes on after each
 * `longStep` of them.
 */
export async function longFrame(push: Push, place: { first: number; group: number }): Promise<[Buffer, Buffer]> {
  const { bytes } = push;
  const before = Buffer.allocUnsafeSlow(frameSize(push) - bytes.length);
  writeEnds(before, 0, push);
  writeHead(before, 0, before.length + bytes.length, headOf(push, place));
  let sum = crc32(before.subarray(8));
  for (let at = 0; at < bytes.length; at += longStep) {
    sum = crc32(bytes.subarray(at, at + longStep), sum);
    await setImmediate();
  }
  before.writeUInt32LE(sum, 4);
  return [before, bytes];
}

/** A frame that closes a segment whose next sequence would be `first`. */
export function closingFrame(first: number, index: Buffer): Buffer {
  const frame = Buffer.concat([Buffer.alloc(header), index]);
  seal(frame, 0, frame.length, { first, receivedAt: 0, count: 0, signal: 0, ahead: 0 });
  return frame;
}

/** Writes where each event ends; returns the offset of the first one. */
function writeEnds(target: Buffer, offset: number, { ends }: Push): number {
  let at = offset + header;
  for (const end of ends) at = target.writeUInt32LE(end, at);
  return at;
}

interface Head {
  first: number;
  receivedAt: number;
  count: number;
  signal: number;
  ahead: number;
}

function headOf({ ends, receivedAt, signal }: Push, { first, group }: { first: number; group: number }): Head {
  return { first, receivedAt, count: ends.length, signal: signals.indexOf(signal), ahead: first - group };
}

function seal(target: Buffer, offset: number, end: number, head: Head): number {
  writeHead(target, offset, end, head);
  target.writeUInt32LE(crc32(target.subarray(offset + 8, end)), offset + 4);
  return end;
}

/** All of the head but the checksum. */
function writeHead(target: Buffer, offset: number, end: number, head: Head): void {
  target.writeUInt32LE(end - offset - 8, offset);
  target.writeDoubleLE(head.first, offset + 8);
  target.writeDoubleLE(head.receivedAt, offset + 16);
  target.writeUIntLE(head.count, offset + 24, 3);
  target.writeUInt8(head.signal, offset + 27);
  target.writeUInt32LE(head.ahead, offset + 28);
}

/** Reads the frame at `offset`, whose first event has the sequence `first` in format 1. */
export function readFrame(bytes: Buffer, offset: number, format: Format, first: number): Reading {
  const least = format === 1 ? oldHeader : header;
  if (offset + least > bytes.length) return { kind: "short", needed: least };
  const length = bytes.readUInt32LE(offset) + (format === 1 ? 8 : 0);
  if (length < least - 8 || length > largestFrame) return { kind: "torn" };
  const end = offset + 8 + length;
  if (end > bytes.length) return { kind: "short", needed: 8 + length };
  if (crc32(bytes.subarray(offset + 8, end)) !== bytes.readUInt32LE(offset + 4)) return { kind: "torn" };
  return format === 1 ? oldFrame(bytes, offset, end, first) : newFrame(bytes, offset, end);
}

function oldFrame(bytes: Buffer, offset: number, end: number, first: number): Frame {
  const receivedAt = bytes.readDoubleLE(offset + 8);
  const start = offset + oldHeader;
  return {
    kind: "frame",
    first,
    count: 1,
    receivedAt,
    signal: undefined,
    group: first,
    end,
    bytes,
    table: undefined,
    start,
  };
}

function newFrame(bytes: Buffer, offset: number, end: number): Frame | Closing {
  const first = bytes.readDoubleLE(offset + 8);
  const receivedAt = bytes.readDoubleLE(offset + 16);
  const count = bytes.readUIntLE(offset + 24, 3);
  const table = offset + header;
  if (count === 0) return { kind: "closing", first, index: bytes.subarray(table, end), end };
  const signal = signals[bytes.readUInt8(offset + 27)];
  const group = first - bytes.readUInt32LE(offset + 28);
  return { kind: "frame", first, count, receivedAt, signal, group, end, bytes, table, start: table + 4 * count };
}

/**
 * Adds the events of a frame from the sequence `position` on to `target`, until they are `room` events or `maxBytes`
 * bytes. They share the memory of the frame. Returns the bytes of the events.
 */
export function takeEvents(
  frame: Frame,
  position: number,
  target: Event[],
  limits: { room: number; maxBytes: number },
): number {
  const { bytes, table, start, receivedAt, first, count, signal } = frame;
  const from = position - first;
  const to = Math.min(count, from + limits.room);
  let begin = start + (from === 0 || table === undefined ? 0 : bytes.readUInt32LE(table + 4 * (from - 1)));
  const firstByte = begin;
  for (let index = from; index < to && begin - firstByte < limits.maxBytes; index += 1) {
    const end = table === undefined ? frame.end : start + bytes.readUInt32LE(table + 4 * index);
    target.push(new Event(first + index, receivedAt, bytes, begin, end, signal));
    begin = end;
  }
  return begin - firstByte;
}

/** The events of a frame up to the sequence `last`, as a push. */
export function pushUpTo(frame: Frame, last: number): Push {
  const { bytes, table, start, receivedAt, signal, first } = frame;
  const count = last - first + 1;
  const ends = Array.from({ length: count }, (_, index) =>
    table === undefined ? frame.end - start : bytes.readUInt32LE(table + 4 * index),
  );
  const held = bytes.subarray(start, start + ends.at(-1)!);
  return { bytes: held, ends, receivedAt, ...(signal === undefined ? {} : { signal }) };
}
