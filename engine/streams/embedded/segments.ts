import { open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { readFrame, segmentFirst, segmentHeader, segmentName } from "./segment.ts";
import { EngineError } from "../../core/errors.ts";

/** A segment on disk. `last` is `first - 1` while it is empty. */
export interface Segment {
  first: number;
  last: number;
  /** Bytes of the file that hold the header and whole frames. */
  size: number;
}

/** One event is never larger than this: the events listener refuses larger bodies long before. */
export const maxEventBytes = 64 * 1024 * 1024;

/** The sequences at which the segments of a folder begin, ascending. */
export async function segmentFirsts(folder: string): Promise<number[]> {
  const names = await readdir(folder);
  return names
    .map(segmentFirst)
    .filter((first) => first !== undefined)
    .toSorted((a, b) => a - b);
}

/**
 * What is on disk after a start. A frame that a crash cut short can only be the last one of the last segment, and was
 * never answered: it is left out, and the next write overwrites it. A broken frame anywhere else is damage, and an
 * error, as it would lose events that were answered.
 */
export async function scanSegments(folder: string): Promise<Segment[]> {
  const firsts = await segmentFirsts(folder);
  const segments: Segment[] = [];
  for (const [index, first] of firsts.entries()) {
    segments.push(await scanSegment(folder, first, index === firsts.length - 1));
  }
  return segments;
}

async function scanSegment(folder: string, first: number, isLast: boolean): Promise<Segment> {
  const path = join(folder, segmentName(first));
  const fileSize = (await stat(path)).size;
  const file = await open(path, "r");
  try {
    let size = segmentHeader.length;
    let last = first - 1;
    let bytes: Buffer = Buffer.alloc(0);
    let at = 0;
    for (;;) {
      const frame = readFrame(bytes, at, maxEventBytes);
      if (frame.kind === "frame") {
        size += frame.end - at;
        at = frame.end;
        last += 1;
        continue;
      }
      const more = frame.kind === "short" && size + (bytes.length - at) < fileSize;
      if (!more) break;
      const chunk = Buffer.alloc(Math.min(Math.max(1 << 20, (bytes.length - at) * 2), fileSize - size));
      const { bytesRead } = await file.read(chunk, 0, chunk.length, size);
      bytes = chunk.subarray(0, bytesRead);
      at = 0;
    }
    if (size < fileSize && !isLast) {
      throw new EngineError(
        "STORAGE_FAILED",
        `${path}: the event at byte ${size} is damaged: restore the file from a backup`,
      );
    }
    return { first, last, size: fileSize < segmentHeader.length ? 0 : size };
  } finally {
    await file.close();
  }
}
