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

/**
 * What is on disk after a start, of which events up to `trimmed` are settled: files with nothing else are removed, after
 * a look at where each ends.
 *
 * A frame that a crash cut short can only be among the last ones of the last segment, whose sync was never over, so it
 * was never answered: it is left out. A broken frame anywhere else is damage, and an error, as it would lose events that
 * were answered. So is a file that goes on where the next one has begun, unless it was ended there on purpose, which a
 * closed file says.
 */
export async function scanSegments(folder: Folder, trimmed: number): Promise<Segment[]> {
  await removeUnfinished(folder);
  const found = await removeLeftOvers(folder, await lookAtAll(folder));
  const segments: Segment[] = [];
  for (const [index, file] of found.entries()) {
    const segment = await segmentOf(folder, file, found[index + 1], trimmed);
    if (segment === undefined) await removeSegment(folder, file.segment.first);
    else segments.push(segment);
  }
  return segments;
}

/** A segment's file as it is read by itself. */
interface Found {
  /** Up to the last whole frame. */
  segment: Segment;
  path: string;
  format: Format;
  isClosed: boolean;
  /** Its size in bytes. */
  size: number;
  /** Whether frames follow that were written after a broken one was durable. */
  isBroken: boolean;
}

/** Files that were to get the name of a segment, and were never whole. */
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

/** Looks at all events of a segment, up to the first place that is no whole frame. */
async function walkThrough(walk: FrameWalk): Promise<Segment> {
  const frameIndex = new FrameIndex();
  let reading = await walk.peek();
  while (reading.kind === "frame" && reading.first === walk.next) {
    frameIndex.note(reading.first, walk.offset, reading.receivedAt);
    walk.pass(reading);
    reading = await walk.peek();
  }
  const { first, next, offset: end } = walk;
  return { first, last: next - 1, end, frameIndex, isOpen: false, isCut: false };
}

/**
 * Removes empty files that lie within the segment before them: they were to follow it, their making failed, and it went
 * on. Were they taken for its successor, its later events would be lost.
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

/** Whether nothing was ever appended to a file. */
function isEmpty({ isClosed, size }: Found): boolean {
  return !isClosed && size <= headerSize;
}

/** What a file counts for, before the one that follows; undefined where all of it is settled. */
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
  // What is missing of it is settled too, unless nothing is in the next file: then it may have gone on.
  const isSettled = before - 1 <= trimmed && (isWhole || !isEmpty(next) || size === 0);
  if (isSettled) return undefined;
  if (!isWhole) throw damaged(file);
  return segment.last < before ? segment : cutBefore(segment, before);
}

/** Whether a file that no frame closes is whole, up to where the next one begins. */
function endsAt({ segment, format, size }: Found, next: Found): boolean {
  const before = next.segment.first;
  // Behind a segment of format 1 events may have been dropped on purpose, which it did not tell.
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
 * Whether a frame after the broken one was written after the broken one was durable. Where a frame begins is not known
 * any more, so every place is tried; what comes next is what the frame says of itself.
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

/** Whether a number could be the sequence of a frame of the segment, after `next`. */
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
      `restore the folder from a backup, or move the file away whose events are not to be written`,
  );
}
