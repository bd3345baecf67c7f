import { join } from "node:path";
import { EngineError } from "../../core/errors.ts";
import { readFrame, type Format } from "./frame.ts";
import { FrameWalk } from "./frame-walk.ts";
import { FrameIndex } from "./frame-index.ts";
import { cutTail, removeSegment } from "./segment-file.ts";
import { cutBefore, headerSize, segmentFirst, type Folder, type Segment } from "./segment.ts";

/** The sequences at which the segments of a folder begin, ascending. */
export async function segmentFirsts({ disk, path }: Folder): Promise<number[]> {
  const names = await disk.readdir(path);
  return names
    .map(segmentFirst)
    .filter((first) => first !== undefined)
    .toSorted((a, b) => a - b);
}

/** What is known of a stream before its files are read: events up to these sequences were settled, and answered. */
export interface Known {
  trimmed: number;
  answered: number;
}

/**
 * The segments on disk after a start, of which events up to `trimmed` are settled. Files without other events are
 * removed, after their ends were checked.
 *
 * A frame that a crash cut short can only be among the last ones of the last segment. Its sync never ended, so its push
 * was never answered: it is omitted. A broken frame anywhere else, or of an event that is known as answered, is damage,
 * and an error. So is a file whose events overlap with the next one, unless it was ended there on purpose: then it or
 * the next file is closed.
 */
export async function scanSegments(folder: Folder, { trimmed, answered }: Known): Promise<Segment[]> {
  await removeUnfinished(folder);
  const found = await removeLeftOvers(folder, await lookAtAll(folder));
  assertAnswered(folder, found.at(-1), { trimmed, answered });
  const segments: Segment[] = [];
  for (const [index, file] of found.entries()) {
    const segment = await segmentOf(folder, file, found[index + 1], trimmed);
    if (segment === undefined) await removeSegment(folder, file.segment.first);
    else segments.push(segment);
  }
  return segments;
}

/** A segment's file, without regard to the others. */
interface Found {
  /** Up to the last whole frame. */
  segment: Segment;
  path: string;
  format: Format;
  isClosed: boolean;
  /** Its size in bytes. */
  size: number;
  /** Whether a frame is broken that was durable: later groups follow it. */
  isBroken: boolean;
}

/** Removes files that were never completed and renamed to a segment. */
async function removeUnfinished({ disk, path }: Folder): Promise<void> {
  for (const name of await disk.readdir(path)) if (name.endsWith(".new")) await disk.rm(join(path, name));
}

async function lookAtAll(folder: Folder): Promise<Found[]> {
  const found: Found[] = [];
  for (const first of await segmentFirsts(folder)) found.push(await lookAt(folder, first));
  return found;
}

async function lookAt(folder: Folder, first: number): Promise<Found> {
  const walk = await FrameWalk.open(folder, first);
  try {
    const size = await walk.size();
    const { path, format } = walk;
    const closed = await walk.closed();
    if (closed !== undefined) return { segment: closed, path, format, isClosed: true, size, isBroken: false };
    const segment = await walkThrough(walk);
    const isBroken = format === 2 && segment.end < size && (await holdsLaterGroup(walk));
    return { segment, path, format, isClosed: false, size, isBroken };
  } finally {
    await walk.close();
  }
}

/** Reads all events of a segment, up to the first place without a whole frame. */
async function walkThrough(walk: FrameWalk): Promise<Segment> {
  const frameIndex = new FrameIndex();
  let reading = await walk.peek();
  while (reading.kind === "frame" && reading.first === walk.next) {
    frameIndex.note(reading.first, walk.offset, reading.receivedAt);
    walk.pass(reading);
    reading = await walk.peek();
  }
  const { first, next, offset: end } = walk;
  return { first, last: next - 1, end, frameIndex, isOpen: false, isClosed: false };
}

/**
 * Removes empty files whose first sequence lies within the segment before: making them failed, and that segment got
 * more events, which would be lost if the empty file counted as the next segment.
 */
async function removeLeftOvers(folder: Folder, found: readonly Found[]): Promise<Found[]> {
  const kept: Found[] = [];
  for (const file of found) {
    const before = kept.at(-1);
    const isLeftOver = isEmpty(file) && before !== undefined && before.segment.last >= file.segment.first;
    if (isLeftOver) await removeSegment(folder, file.segment.first);
    else kept.push(file);
  }
  return kept;
}

/** Throws where events that were answered, and are not settled, are not in the newest file. */
function assertAnswered({ path }: Folder, newest: Found | undefined, { trimmed, answered }: Known): void {
  const last = newest?.segment.last ?? 0;
  if (answered <= Math.max(last, trimmed)) return;
  if (newest !== undefined) throw damaged(newest);
  throw new EngineError(
    "STORAGE_FAILED",
    `${path}: the events up to ${answered} were answered, and no file holds them: restore the folder from a backup`,
  );
}

/** Whether nothing was ever appended to a file. */
function isEmpty({ isClosed, size }: Found): boolean {
  return !isClosed && size <= headerSize;
}

/** The segment of a file, up to the next file; undefined where all of it is settled. */
async function segmentOf(
  folder: Folder,
  file: Found,
  next: Found | undefined,
  trimmed: number,
): Promise<Segment | undefined> {
  const { segment, size } = file;
  if (next === undefined) return lastSegment(folder, file);
  const before = next.segment.first;
  const isWhole = file.isClosed || endsAt(file, next);
  if (!isWhole && segment.last >= before && segment.last > trimmed) throw overlapping(file, next);
  // What is missing of it is settled too, unless the next file is empty: then it may have had more events.
  const isSettled = before - 1 <= trimmed && (isWhole || !isEmpty(next) || size === 0);
  if (isSettled) return undefined;
  if (!isWhole) throw damaged(file);
  return segment.last < before ? segment : cutBefore(segment, before);
}

/** Whether a file without a closing frame is whole up to the beginning of the next one. */
function endsAt({ segment, format, size }: Found, next: Found): boolean {
  const before = next.segment.first;
  // After a segment of format 1 events may have been dropped on purpose, without a mark in the file.
  if (format === 1) return segment.last === before - 1 || segment.end === size;
  return segment.last === before - 1 || (segment.last >= before && next.isClosed);
}

async function lastSegment(folder: Folder, file: Found): Promise<Segment> {
  const { segment, format, size } = file;
  if (file.isBroken) throw damaged(file);
  // Nothing is appended to a file of format 1: what a crash left half written would be in the middle of the stream.
  if (format === 1 && segment.end < size) await cutTail(folder, segment);
  return { ...segment, isOpen: !file.isClosed && format === 2 };
}

/**
 * Whether a frame after the broken one was written after the broken one was durable. The offsets of later frames are
 * not known, so every place is tried; `group` of a frame shows what was durable before it.
 */
async function holdsLaterGroup(walk: FrameWalk): Promise<boolean> {
  const bytes = await walk.bytes(walk.offset, (await walk.size()) - walk.offset);
  for (let at = 1; at + 32 < bytes.length; at += 1) {
    if (!isPlausible(bytes.readDoubleLE(at + 8), walk.next)) continue;
    const reading = readFrame(bytes, at, 2, 0);
    if (reading.kind === "frame" && reading.group > walk.next) return true;
    if (reading.kind === "closing") return true;
  }
  return false;
}

/** Whether a number may be the sequence of a later frame of the segment, after `next`. */
function isPlausible(first: number, next: number): boolean {
  return first > next && first < next + 2 ** 32 && Number.isInteger(first);
}

function damaged({ path, segment }: Found): EngineError {
  return new EngineError(
    "STORAGE_FAILED",
    `${path}: the event ${segment.last + 1}, at byte ${segment.end}, is damaged: restore the file from a backup`,
  );
}

function overlapping({ path, segment }: Found, next: Found): EngineError {
  return new EngineError(
    "STORAGE_FAILED",
    `${path} holds the events ${segment.first} to ${segment.last}, and ${next.path} others from ${next.segment.first} on: ` +
      `restore the folder from a backup, or move away the file whose events are not to be written`,
  );
}
