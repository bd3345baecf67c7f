import type { DiskFile } from "../../core/disk.ts";
import type { Push } from "../../core/push.ts";
import { frameSize, writeFrame } from "./frame.ts";
import { Marks } from "./marks.ts";
import { closingOf, headerSize, segmentHeader, segmentPath, type Folder, type Segment } from "./segment.ts";

/** Memory that a file keeps for its next write, at the most. */
const keptBytes = 4 * 1024 * 1024;

/** The file of the segment that events are appended to. Its calls must not overlap. */
export class SegmentFile {
  readonly segment: Segment;
  readonly #file: DiskFile;
  /** What frames are written in, again and again: new memory for each would cost more than the copy. */
  #memory = Buffer.alloc(0);
  /** Whether bytes may lie behind the last whole frame: they must never be taken for events. */
  #isRagged = false;

  private constructor(segment: Segment, file: DiskFile) {
    this.segment = segment;
    this.#file = file;
  }

  /** Makes the file of an empty segment; its name is durable then. */
  static async create(folder: Folder, first: number): Promise<SegmentFile> {
    const segment = { first, last: first - 1, end: headerSize, marks: new Marks(), isOpen: true, isCut: false };
    return SegmentFile.#open(folder, segment, "create");
  }

  /** Opens the last segment of an earlier start, without what a crash left half written. */
  static reopen(folder: Folder, segment: Segment): Promise<SegmentFile> {
    return SegmentFile.#open(folder, segment, "write");
  }

  static async #open(folder: Folder, segment: Segment, mode: "write" | "create"): Promise<SegmentFile> {
    const file = await folder.disk.open(segmentPath(folder, segment.first), mode);
    try {
      await writeAll(file, segmentHeader, 0);
      await file.truncate(segment.end);
      await file.sync();
      await folder.disk.syncFolder(folder.path);
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
export async function writeSegment(folder: Folder, first: number, push: Push | undefined): Promise<Segment> {
  const marks = new Marks();
  const frame = Buffer.alloc(push === undefined ? 0 : frameSize(push));
  if (push !== undefined) {
    writeFrame(frame, 0, push, { first, group: first });
    marks.note(first, headerSize, push.receivedAt);
  }
  const last = first - 1 + (push?.ends.length ?? 0);
  const segment = { first, last, end: headerSize + frame.length, marks, isOpen: false, isCut: false };
  const { disk } = folder;
  const path = segmentPath(folder, first);
  const file = await disk.open(`${path}.new`, "create");
  try {
    await writeAll(file, Buffer.concat([segmentHeader, frame, closingOf(segment)]), 0);
    await file.sync();
  } finally {
    await file.close();
  }
  await disk.rename(`${path}.new`, path);
  await folder.disk.syncFolder(folder.path);
  return segment;
}

/** Cuts what a crash left behind the last whole frame of a file that gets no more. */
export async function cutTail(folder: Folder, { first, end }: Segment): Promise<void> {
  const file = await folder.disk.open(segmentPath(folder, first), "write");
  try {
    await file.truncate(end);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Removes a settled segment. Its space comes back at once, also while a reader has it open. */
export async function removeSettled(folder: Folder, first: number): Promise<void> {
  const path = segmentPath(folder, first);
  try {
    const file = await folder.disk.open(path, "write");
    try {
      await file.truncate(0);
    } finally {
      await file.close();
    }
    await folder.disk.unlink(path);
  } catch (error) {
    ignoreMissing(error as NodeJS.ErrnoException);
  }
}

/** Removes a segment that was dropped whole. */
export async function removeDropped(folder: Folder, { first }: Segment): Promise<void> {
  await folder.disk.unlink(segmentPath(folder, first)).catch(ignoreMissing);
}

async function writeAll(file: DiskFile, bytes: Buffer, offset: number): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    written += await file.write(bytes.subarray(written), offset + written);
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}
