import { join } from "node:path";
import { EngineError } from "../../core/errors.ts";
import { readFrame } from "./frame.ts";
import { FrameWalk } from "./frame-walk.ts";
import { Marks } from "./marks.ts";
import { cutTail } from "./segment-file.ts";
import { cutBefore, segmentFirst, segmentPath, type Folder, type Segment } from "./segment.ts";

/** The sequences at which the segments of a folder begin, ascending. */
export async function segmentFirsts({ disk, path }: Folder): Promise<number[]> {
  const names = await disk.readdir(path);
  return names
    .map(segmentFirst)
    .filter((first) => first !== undefined)
    .toSorted((a, b) => a - b);
}

/**
 * What is on disk after a start, of which events up to `trimmed` are settled: files with nothing else are removed.
 *
 * A frame that a crash cut short can only be among the last ones of the last segment, whose sync was never over, so it
 * was never answered: it is left out. A broken frame anywhere else is damage, and an error, as it would lose events that
 * were answered.
 */
export async function scanSegments(folder: Folder, trimmed: number): Promise<Segment[]> {
  await removeUnfinished(folder);
  const firsts = await segmentFirsts(folder);
  const segments: Segment[] = [];
  for (const [index, first] of firsts.entries()) {
    const next = firsts[index + 1];
    if (next !== undefined && next - 1 <= trimmed) await folder.disk.unlink(segmentPath(folder, first));
    else segments.push(await loadSegment(folder, first, next));
  }
  return segments;
}

/** Files that were to take the place of others, and were never whole. */
async function removeUnfinished({ disk, path }: Folder): Promise<void> {
  for (const name of await disk.readdir(path)) if (name.endsWith(".new")) await disk.rm(join(path, name));
}

async function loadSegment(folder: Folder, first: number, next: number | undefined): Promise<Segment> {
  const walk = await FrameWalk.open(folder, first);
  try {
    const segment = (await walk.closed()) ?? (await walkThrough(folder, walk, next));
    return next === undefined || segment.last < next ? segment : cutBefore(segment, next);
  } finally {
    await walk.close();
  }
}

/** Looks at all events of a segment before the one that begins with `next`; the last one is behind none. */
async function walkThrough(folder: Folder, walk: FrameWalk, next: number | undefined): Promise<Segment> {
  const marks = new Marks();
  let reading = await walk.peek();
  while (reading.kind === "frame" && reading.first === walk.next) {
    marks.note(reading.first, walk.offset, reading.receivedAt);
    walk.pass(reading);
    reading = await walk.peek();
  }
  const { first, format, offset: end } = walk;
  const isLast = next === undefined;
  const isToEnd = end === (await walk.size());
  // Behind a segment of format 1 events may have been dropped on purpose, which it did not tell.
  const isWhole = isLast
    ? format === 1 || !(await holdsLaterGroup(walk))
    : walk.next === next || (format === 1 && isToEnd);
  if (!isWhole) throw damaged(walk);
  const segment = { first, last: walk.next - 1, end, marks, isOpen: isLast && format === 2, isCut: false };
  // Nothing is appended to a file of format 1: what a crash left half written would be in the middle of the stream.
  if (isLast && format === 1 && !isToEnd) await cutTail(folder, segment);
  return segment;
}

/**
 * Whether a frame behind the broken one was written after the broken one was durable. Where a frame begins is not known
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

/** Whether a number could be the sequence of a frame of the segment, behind `next`. */
function isPlausible(first: number, next: number): boolean {
  return first > next && first < next + 2 ** 32 && Number.isInteger(first);
}

function damaged({ path, offset, next }: FrameWalk): EngineError {
  return new EngineError(
    "STORAGE_FAILED",
    `${path}: the event ${next}, at byte ${offset}, is damaged: restore the file from a backup`,
  );
}
