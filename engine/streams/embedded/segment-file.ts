import { open, rename, truncate, unlink, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import type { Push } from "../../core/push.ts";
import { syncFolder } from "../../state/durable-file.ts";
import { frameSize, writeFrame } from "./frame.ts";
import { Marks } from "./marks.ts";
import { closingOf, headerSize, segmentHeader, segmentName, type Segment } from "./segment.ts";

/** Memory that a file keeps for its next write, at the most. */
const keptBytes = 4 * 1024 * 1024;

/** The file of the segment that events are appended to. Its calls must not overlap. */
export class SegmentFile {
  readonly segment: Segment;
  readonly #file: FileHandle;
  /** What frames are written in, again and again: new memory for each would cost more than the copy. */
  #memory = Buffer.alloc(0);
  /** Whether bytes may lie behind the last whole frame: they must never be taken for events. */
  #isRagged = false;

  private constructor(segment: Segment, file: FileHandle) {
    this.segment = segment;
    this.#file = file;
  }

  /** Makes the file of an empty segment; its name is durable then. */
  static async create(folder: string, first: number): Promise<SegmentFile> {
    const segment = { first, last: first - 1, end: headerSize, marks: new Marks(), isOpen: true, isCut: false };
    return SegmentFile.#open(folder, segment, "w+");
  }

  /** Opens the last segment of an earlier start, without what a crash left half written. */
  static reopen(folder: string, segment: Segment): Promise<SegmentFile> {
    return SegmentFile.#open(folder, segment, "r+");
  }

  static async #open(folder: string, segment: Segment, flags: string): Promise<SegmentFile> {
    const file = await open(join(folder, segmentName(segment.first)), flags, 0o600);
    try {
      await writeAll(file, segmentHeader, 0);
      await file.truncate(segment.end);
      await file.sync();
      await syncFolder(folder);
      return new SegmentFile(segment, file);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /**
   * Writes pushes with one write and one sync; resolves with the events and bytes that they are, which the segment does
   * not know of yet. When it throws, none of them is there.
   */
  async write(pushes: readonly Push[]): Promise<{ count: number; bytes: number }> {
    const { end, last, marks } = this.segment;
    await this.#cutRagged();
    const bytes = this.#memoryOf(pushes.reduce((sum, push) => sum + frameSize(push), 0));
    const group = last + 1;
    const frames: [first: number, offset: number, receivedAt: number][] = [];
    let first = group;
    let at = 0;
    for (const push of pushes) {
      frames.push([first, end + at, push.receivedAt]);
      at = writeFrame(bytes, at, push, { first, group });
      first += push.ends.length;
    }
    this.#isRagged = true;
    await writeAll(this.#file, bytes, end);
    await this.#file.datasync();
    this.#isRagged = false;
    for (const frame of frames) marks.note(...frame);
    return { count: first - group, bytes: bytes.length };
  }

  /** Writes what says that no event follows, which a segment that others follow must have before there are others. */
  async finish(): Promise<void> {
    await this.#cutRagged();
    this.#isRagged = true;
    await writeAll(this.#file, closingOf(this.segment), this.segment.end);
    await this.#file.datasync();
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  /** So many bytes, which the next write uses again unless they are many. */
  #memoryOf(size: number): Buffer {
    if (size > keptBytes) return Buffer.allocUnsafe(size);
    if (size > this.#memory.length) this.#memory = Buffer.allocUnsafeSlow(Math.min(keptBytes, 2 * size));
    return this.#memory.subarray(0, size);
  }

  async #cutRagged(): Promise<void> {
    if (!this.#isRagged) return;
    await this.#file.truncate(this.segment.end);
    this.#isRagged = false;
  }
}

/** Writes a whole segment file that is closed, in the place of another or of none, all or nothing. */
export async function writeSegment(folder: string, first: number, push: Push | undefined): Promise<Segment> {
  const marks = new Marks();
  const frame = Buffer.alloc(push === undefined ? 0 : frameSize(push));
  if (push !== undefined) {
    writeFrame(frame, 0, push, { first, group: first });
    marks.note(first, headerSize, push.receivedAt);
  }
  const last = first - 1 + (push?.ends.length ?? 0);
  const segment = { first, last, end: headerSize + frame.length, marks, isOpen: false, isCut: false };
  const path = join(folder, segmentName(first));
  const file = await open(`${path}.new`, "w", 0o600);
  try {
    await file.writeFile(Buffer.concat([segmentHeader, frame, closingOf(segment)]));
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${path}.new`, path);
  await syncFolder(folder);
  return segment;
}

/** Cuts what a crash left behind the last whole frame of a file that gets no more. */
export async function cutTail(folder: string, { first, end }: Segment): Promise<void> {
  const file = await open(join(folder, segmentName(first)), "r+");
  try {
    await file.truncate(end);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Removes a settled segment. Its space comes back at once, also while a reader has it open. */
export async function removeSettled(folder: string, first: number): Promise<void> {
  const path = join(folder, segmentName(first));
  await truncate(path, 0).catch(ignoreMissing);
  await unlink(path).catch(ignoreMissing);
}

/** Removes a segment that was dropped whole. */
export async function removeDropped(folder: string, { first }: Segment): Promise<void> {
  await unlink(join(folder, segmentName(first))).catch(ignoreMissing);
}

async function writeAll(file: FileHandle, bytes: Buffer, offset: number): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, written, bytes.length - written, offset + written);
    written += bytesWritten;
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}
