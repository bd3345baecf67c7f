import type { DiskFile } from "../../core/disk.ts";
import type { Push } from "../../core/push.ts";
import { makeFile, writeAll } from "../../state/durable-files.ts";
import { frameSize, longFrame, longStep, writeFrame } from "./frame.ts";
import { FrameIndex } from "./frame-index.ts";
import { closingOf, headerSize, segmentHeader, segmentPath, type Folder, type Segment } from "./segment.ts";

/** The most memory that a file keeps for its next write. */
const keptBytes = 4 * 1024 * 1024;

/**
 * The file of the segment that events are appended to. Its calls must not overlap.
 *
 *     clean ──write, finish──> ragged ──synced──> clean
 *                                └──────cut─────> clean, or suspect where a sync has failed
 *
 * The bytes after the last whole frame of a *ragged* file must never be read as events. A *suspect* file gets no more
 * events: after a failed sync the system may treat pages as written that are not.
 */
export class SegmentFile {
  readonly segment: Segment;
  readonly #file: DiskFile;
  /** Memory for short frames, used again for each write: new memory would cost more than the copy. */
  #memory = Buffer.alloc(0);
  #isRagged = false;
  #isSuspect = false;

  private constructor(segment: Segment, file: DiskFile) {
    this.segment = segment;
    this.#file = file;
  }

  /**
   * Makes the file of an empty segment, under another name first, so that a file with the name of a segment is always
   * complete. Its name is durable when this resolves. When it throws, there is no file, unless the error is a
   * `LeftoverFile`.
   */
  static async create(folder: Folder, first: number): Promise<SegmentFile> {
    const { disk, path: folderPath } = folder;
    const path = segmentPath(folder, first);
    const segment = {
      first,
      last: first - 1,
      end: headerSize,
      frameIndex: new FrameIndex(),
      isOpen: true,
      isClosed: false,
    };
    let file: DiskFile | undefined;
    try {
      file = await disk.open(`${path}.new`, "create");
      await writeAll(file, segmentHeader, 0);
      await file.sync();
      await disk.rename(`${path}.new`, path);
      await disk.syncFolder(folderPath);
      return new SegmentFile(segment, file);
    } catch (error) {
      await file?.close().catch(() => undefined);
      await disk.unlink(`${path}.new`).catch(() => undefined);
      await removeLeftover(folder, first).catch(() => {
        throw new LeftoverFile(first, error);
      });
      throw error;
    }
  }

  /** Opens the last segment of an earlier start, and cuts what a crash left half written. */
  static async reopen(folder: Folder, segment: Segment): Promise<SegmentFile> {
    const { disk, path } = folder;
    const file = await disk.open(segmentPath(folder, segment.first), "write");
    try {
      const size = await file.size();
      // Earlier versions made it under its own name: a crash may have left a part of the header.
      if (size < headerSize) await writeAll(file, segmentHeader, 0);
      if (size > segment.end) await file.truncate(segment.end);
      await file.sync();
      await disk.syncFolder(path);
      return new SegmentFile(segment, file);
    } catch (error) {
      await file.close().catch(() => undefined);
      throw error;
    }
  }

  /** Whether it gets no more events: another segment has to follow. */
  get isSuspect(): boolean {
    return this.#isSuspect;
  }

  /**
   * Writes pushes with one sync; resolves with their number of events and of bytes, which are not added
   * to the segment yet. When it throws, the file has none of them, unless the error is an `UncertainWrite`.
   */
  async write(pushes: readonly Push[]): Promise<{ count: number; bytes: number }> {
    const { end, last, frameIndex } = this.segment;
    await this.cut();
    const group = last + 1;
    const memory = this.#memoryOf(pushes.reduce((sum, push) => sum + (isLong(push) ? 0 : frameSize(push)), 0));
    const parts: Buffer[] = [];
    const frames: [first: number, offset: number, receivedAt: number][] = [];
    let [first, bytes, from, to] = [group, 0, 0, 0];
    for (const push of pushes) {
      const place = { first, group };
      frames.push([first, end + bytes, push.receivedAt]);
      if (isLong(push)) {
        parts.push(memory.subarray(from, to), ...(await longFrame(push, place)));
        from = to;
      } else to = writeFrame(memory, to, push, place);
      first += push.ends.length;
      bytes += frameSize(push);
    }
    parts.push(memory.subarray(from, to));
    try {
      await this.#append(parts);
    } catch (error) {
      await this.cut().catch(() => {
        throw new UncertainWrite(error);
      });
      throw error;
    }
    for (const frame of frames) frameIndex.note(...frame);
    return { count: first - group, bytes };
  }

  /** Writes the closing frame. A segment has it before the next one begins, unless it is suspect. */
  async finish(): Promise<void> {
    await this.cut();
    await this.#append([closingOf(this.segment)]);
    this.segment.isClosed = true;
    // If the next segment cannot be made, this one takes events again.
    this.#isRagged = true;
  }

  /** Cuts what may follow the last whole frame; the cut is durable when this resolves. */
  async cut(): Promise<void> {
    if (!this.#isRagged) return;
    this.segment.isClosed = false;
    await this.#file.truncate(this.segment.end);
    await this.#sync("sync");
    this.#isRagged = false;
    // The header was durable before anything was written, and nothing else is left.
    if (this.segment.end === headerSize) this.#isSuspect = false;
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  async #append(parts: readonly Buffer[]): Promise<void> {
    this.#isRagged = true;
    let at = this.segment.end;
    for (const part of parts) {
      await writeAll(this.#file, part, at);
      at += part.length;
    }
    await this.#sync("datasync");
    this.#isRagged = false;
  }

  async #sync(how: "sync" | "datasync"): Promise<void> {
    try {
      await this.#file[how]();
    } catch (error) {
      this.#isSuspect = true;
      throw error;
    }
  }

  /** Memory of this size, which the next write uses again unless it is large. */
  #memoryOf(size: number): Buffer {
    if (size > keptBytes) return Buffer.allocUnsafe(size);
    if (size > this.#memory.length) this.#memory = Buffer.allocUnsafeSlow(Math.min(keptBytes, 2 * size));
    return this.#memory.subarray(0, size);
  }
}

function isLong({ bytes }: Push): boolean {
  return bytes.length > longStep;
}

/** Pushes may be in the file or not: a failed write could not be cut. */
export class UncertainWrite extends Error {
  constructor(cause: unknown) {
    super("the rest of a failed write could not be cut", { cause });
  }
}

/** The file of a segment that could not be completed may exist, and could not be removed. */
export class LeftoverFile extends Error {
  readonly first: number;

  constructor(first: number, cause: unknown) {
    super("an incomplete segment could not be removed", { cause });
    this.first = first;
  }
}

/** Removes the file of a segment that was not completed; its name is free then. */
export async function removeLeftover(folder: Folder, first: number): Promise<void> {
  await folder.disk.unlink(segmentPath(folder, first)).catch(ignoreMissing);
}

/** Writes a complete, closed segment file, and replaces an existing one; all or nothing. */
export async function writeSegment(folder: Folder, first: number, push: Push | undefined): Promise<Segment> {
  const frameIndex = new FrameIndex();
  const frame = Buffer.alloc(push === undefined ? 0 : frameSize(push));
  if (push !== undefined) {
    writeFrame(frame, 0, push, { first, group: first });
    frameIndex.note(first, headerSize, push.receivedAt);
  }
  const last = first - 1 + (push?.ends.length ?? 0);
  const segment = { first, last, end: headerSize + frame.length, frameIndex, isOpen: false, isClosed: true };
  const bytes = Buffer.concat([segmentHeader, frame, closingOf(segment)]);
  await makeFile(folder.disk, segmentPath(folder, first), bytes);
  return segment;
}

/** Cuts what a crash left after the last whole frame of a file that gets no more events. */
export async function cutTail(folder: Folder, { first, end }: Segment): Promise<void> {
  const file = await folder.disk.open(segmentPath(folder, first), "write");
  try {
    await file.truncate(end);
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * Removes a segment that is no longer needed; the removal of its name is durable when this resolves. Its space is free
 * at once, also while a reader has it open, since the file is emptied: only after its name is gone, as a file without
 * its events is not a segment.
 */
export async function removeSegment(folder: Folder, first: number): Promise<void> {
  const { disk, path } = folder;
  const file = await disk.open(segmentPath(folder, first), "write").catch(ignoreMissing);
  try {
    await disk.unlink(segmentPath(folder, first)).catch(ignoreMissing);
    await disk.syncFolder(path);
    await file?.truncate(0);
  } finally {
    await file?.close();
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
  return undefined;
}
