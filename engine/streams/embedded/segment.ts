import { crc32 } from "node:zlib";
import { Event } from "../../core/batch.ts";

/**
 * The format of a segment file: a header of 8 bytes, then one frame per event, in the order of their sequences. The
 * file's name is the sequence of its first event.
 *
 *     frame = length of the event (u32) · crc32 of what follows (u32) · received at, ms (f64) · the event
 */
export const segmentHeader = Buffer.from("SLUICE\u0000\u0001", "latin1");
export const frameOverhead = 16;
const suffix = ".segment";

export function segmentName(first: number): string {
  return String(first).padStart(16, "0") + suffix;
}

/** The sequence of the first event of a segment by its name; undefined for any other file. */
export function segmentFirst(name: string): number | undefined {
  return /^\d{16}\.segment$/.test(name) ? Number(name.slice(0, 16)) : undefined;
}

/** Appends the frame of `event` to `target` at `offset`; returns the offset behind it. */
export function writeFrame(target: Buffer, offset: number, event: Buffer, receivedAt: number): number {
  const end = offset + frameOverhead + event.length;
  target.writeUInt32LE(event.length, offset);
  target.writeDoubleLE(receivedAt, offset + 8);
  event.copy(target, offset + frameOverhead);
  target.writeUInt32LE(crc32(target.subarray(offset + 8, end)), offset + 4);
  return end;
}

/** A frame at `offset`, or what is wrong with the bytes there. */
export type Frame =
  { kind: "frame"; receivedAt: number; event: Buffer; end: number } | { kind: "short" } | { kind: "torn" };

/** Reads the frame at `offset`. `short`: more bytes are needed. `torn`: the checksum is wrong. */
export function readFrame(bytes: Buffer, offset: number, limit: number): Frame {
  if (offset + frameOverhead > bytes.length) return { kind: "short" };
  const length = bytes.readUInt32LE(offset);
  if (length > limit) return { kind: "torn" };
  const end = offset + frameOverhead + length;
  if (end > bytes.length) return { kind: "short" };
  if (crc32(bytes.subarray(offset + 8, end)) !== bytes.readUInt32LE(offset + 4)) return { kind: "torn" };
  return {
    kind: "frame",
    receivedAt: bytes.readDoubleLE(offset + 8),
    event: bytes.subarray(offset + frameOverhead, end),
    end,
  };
}

export function toEvent(position: number, frame: Frame & { kind: "frame" }): Event {
  return new Event(position, frame.receivedAt, frame.event);
}
