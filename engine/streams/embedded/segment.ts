import { join } from "node:path";
import type { Disk } from "../../core/disk.ts";
import { closingFrame, readFrame, type Format } from "./frame.ts";
import { FrameIndex } from "./frame-index.ts";

/** Where the files of a stream lie. */
export interface Folder {
  disk: Disk;
  path: string;
}

/**
 * A segment file: a header of 8 bytes, then frames, in the order of their sequences. Its name is the sequence of its
 * first event. A closed one, which gets no more events, ends with a closing frame: its index, then the offset of that
 * frame (f64). So a start finds it from the end of the file and reads nothing else.
 *
 * If the events of a file reach beyond the name of the next one, they count only up to there: the others were dropped
 * on purpose.
 */
export interface Segment {
  first: number;
  /** `first - 1` while it is empty. */
  last: number;
  /** Offset after its last whole frame of events. */
  end: number;
  frameIndex: FrameIndex;
  /** Whether events may be appended to its file. */
  isOpen: boolean;
  /** Whether its file shows by itself where the segment ends: it has a closing frame, and no events that do not count. */
  isClosed: boolean;
}

export const headerSize = 8;
const magic = Buffer.from("SLUICE\u0000", "latin1");

/** The header of files that are written now. */
export const segmentHeader = Buffer.concat([magic, Buffer.from([2])]);

/** The format of a file by its header; undefined for one that this version does not know. */
export function formatOf(header: Buffer): Format | undefined {
  const format = header[7];
  if (!header.subarray(0, 7).equals(magic)) return undefined;
  return format === 1 || format === 2 ? format : undefined;
}

/** The path of the mark of what was answered: the sequence of its last event. */
export function answeredPath({ path }: Folder): string {
  return join(path, answeredName);
}

export const answeredName = "answered";

/** The path of the segment that begins with `first`. */
export function segmentPath({ path }: Folder, first: number): string {
  return join(path, `${String(first).padStart(16, "0")}.segment`);
}

/** The sequence of the first event of a segment by its name; undefined for any other file. */
export function segmentFirst(name: string): number | undefined {
  return /^\d{16}\.segment$/.test(name) ? Number(name.slice(0, 16)) : undefined;
}

/** A segment whose events from `next` on do not count. */
export function cutBefore({ first, last, end, frameIndex }: Segment, next: number): Segment {
  const cut = {
    first,
    last: next - 1,
    end: frameIndex.offsetOf(next, last + 1, end),
    frameIndex: frameIndex.before(next),
  };
  return { ...cut, isOpen: false, isClosed: false };
}

/** The bytes that close a segment's file. */
export function closingOf({ last, end, frameIndex }: Segment): Buffer {
  const trailer = Buffer.alloc(8);
  trailer.writeDoubleLE(end);
  return closingFrame(last + 1, Buffer.concat([frameIndex.encode(), trailer]));
}

/** Where the frame that closes a segment begins, by the last 8 bytes of its file. */
export function closingOffset(trailer: Buffer, fileSize: number): number | undefined {
  const offset = trailer.readDoubleLE();
  return Number.isInteger(offset) && offset >= headerSize && offset < fileSize - 8 ? offset : undefined;
}

/**
 * The segment that begins with `first`, by the bytes from `offset` to the end of its file; undefined where it is not
 * closed.
 */
export function closedSegment(first: number, offset: number, bytes: Buffer): Segment | undefined {
  const closing = readFrame(bytes, 0, 2, first);
  if (closing.kind !== "closing" || closing.end !== bytes.length || closing.first < first) return undefined;
  const frameIndex = FrameIndex.decode(closing.index.subarray(0, -8));
  return { first, last: closing.first - 1, end: offset, frameIndex, isOpen: false, isClosed: true };
}
