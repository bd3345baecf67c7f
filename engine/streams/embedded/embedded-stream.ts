import { mkdir, open, statfs, unlink, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { EngineError } from "../../core/errors.ts";
import type { Stream, StreamLimits, StreamState } from "../../core/stream.ts";
import { syncFolder } from "../../state/durable-file.ts";
import { storageError } from "../../state/store.ts";
import { frameOverhead, segmentHeader, segmentName, writeFrame } from "./segment.ts";
import { scanSegments, type Segment } from "./segments.ts";

/** A segment is closed at this size, so that space comes back in pieces of it. */
const segmentBytes = 64 * 1024 * 1024;
/** One write and one sync carry at most this much. */
const groupBytes = 4 * 1024 * 1024;
/** Intake stops while the disk has less than this, so that what is stored can still be carried on. */
const reserveBytes = 48 * 1024 * 1024;

interface Waiting {
  event: Buffer;
  receivedAt: number;
  resolve: (position: number) => void;
  reject: (error: unknown) => void;
}

/**
 * A stream in append-only segment files: one write and one fdatasync for all events that wait at one moment; whole
 * files are deleted when their last event is trimmed.
 *
 * Append: events queue in memory; one loop writes them behind the last frame, syncs, then answers each. A write that
 * fails answers all of its group with the error and is overwritten by the next, as the end of the stream has not moved.
 */
export class EmbeddedStream implements Stream {
  readonly #folder: string;
  readonly #limits: StreamLimits;
  readonly #segments: Segment[];
  /** Called with the newest durable sequence after each group. */
  readonly #onAppended: (last: number) => void;
  #active: FileHandle;
  #trimmed: number;
  #waiting: Waiting[] = [];
  /** Events that are not durable yet, those of the group that is being written included. */
  #unwritten = { messages: 0, bytes: 0 };
  #writing: Promise<void> | undefined;
  #closed = false;
  #roomCheckedAt = 0;

  private constructor(
    folder: string,
    limits: StreamLimits,
    segments: Segment[],
    active: FileHandle,
    trimmed: number,
    onAppended: (last: number) => void,
  ) {
    this.#folder = folder;
    this.#limits = limits;
    this.#segments = segments;
    this.#active = active;
    this.#trimmed = trimmed;
    this.#onAppended = onAppended;
  }

  /** Opens the stream in `folder`, making it first where there is none. Events up to `trimmed` are settled. */
  static async open(
    folder: string,
    options: { limits: StreamLimits; trimmed: number; onAppended: (last: number) => void },
  ): Promise<EmbeddedStream> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const segments = await scanSegments(folder);
    if (segments.length === 0) segments.push({ first: options.trimmed + 1, last: options.trimmed, size: 0 });
    const active = await openSegment(folder, segments.at(-1)!);
    const stream = new EmbeddedStream(folder, options.limits, segments, active, options.trimmed, options.onAppended);
    await stream.trim(options.trimmed);
    return stream;
  }

  append(event: Buffer, receivedAt: number): Promise<number> {
    const refusal = this.#refusal(event);
    if (refusal !== undefined) return Promise.reject(refusal);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ event, receivedAt, resolve, reject });
      this.#unwritten.messages += 1;
      this.#unwritten.bytes += event.length + frameOverhead;
      this.#writing ??= this.#writeWaiting();
    });
  }

  async trim(position: number): Promise<void> {
    this.#trimmed = Math.max(this.#trimmed, position);
    while (this.#segments.length > 1 && this.#segments[0]!.last <= this.#trimmed) {
      const [settled] = this.#segments.splice(0, 1);
      await unlink(join(this.#folder, segmentName(settled!.first))).catch(ignoreMissing);
    }
  }

  /**
   * Drops the events behind `position`, for a pipeline that is terminated: what pending batches name stays. Sequences go
   * on where they were: the dropped ones leave a gap.
   */
  async release(position: number): Promise<void> {
    await this.#settleWrites();
    const active = this.#segments.at(-1)!;
    if (active.last >= active.first) await this.#roll();
    const dropped = this.#segments.filter((segment) => segment !== this.#segments.at(-1) && segment.last > position);
    for (const segment of dropped) {
      if (segment.first > position) {
        this.#segments.splice(this.#segments.indexOf(segment), 1);
        await unlink(join(this.#folder, segmentName(segment.first))).catch(ignoreMissing);
      } else {
        await this.#cutBehind(segment, position);
      }
    }
  }

  get state(): StreamState {
    const last = this.#segments.at(-1)!.last;
    let messages = 0;
    let bytes = 0;
    for (const segment of this.#segments) {
      const held = segment.last - Math.max(segment.first - 1, this.#trimmed);
      if (held <= 0) continue;
      messages += held;
      bytes += Math.ceil((segment.size * held) / (segment.last - segment.first + 1));
    }
    return {
      messages,
      bytes,
      first: messages === 0 ? last + 1 : Math.max(this.#trimmed + 1, this.#segments[0]!.first),
      last,
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#settleWrites();
    await this.#active.close();
  }

  async #settleWrites(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  #refusal(event: Buffer): EngineError | undefined {
    if (this.#closed)
      return new EngineError("STREAM_CLOSED", "the stream takes no events: its pipeline was stopped for good");
    const { messages, bytes } = this.state;
    if (messages + this.#unwritten.messages >= this.#limits.max_msgs) {
      return full(`max_msgs (${this.#limits.max_msgs} events)`);
    }
    if (bytes + this.#unwritten.bytes + event.length + frameOverhead > this.#limits.max_bytes) {
      return full(`max_bytes (${this.#limits.max_bytes} bytes)`);
    }
    return undefined;
  }

  async #writeWaiting(): Promise<void> {
    try {
      while (this.#waiting.length > 0) {
        const group = this.#takeGroup();
        try {
          await this.#checkRoom();
          await this.#write(group);
        } catch (error) {
          const failure = error instanceof EngineError ? error : storageError(error);
          for (const { reject } of group) reject(failure);
        } finally {
          this.#unwritten.messages -= group.length;
          this.#unwritten.bytes -= sizeOf(group);
        }
      }
    } finally {
      this.#writing = undefined;
    }
  }

  #takeGroup(): Waiting[] {
    let bytes = 0;
    let count = 0;
    while (count < this.#waiting.length && (count === 0 || bytes < groupBytes)) {
      bytes += this.#waiting[count]!.event.length + frameOverhead;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  async #write(group: readonly Waiting[]): Promise<void> {
    if (this.#segments.at(-1)!.size >= segmentBytes) await this.#roll();
    const segment = this.#segments.at(-1)!;
    const bytes = Buffer.allocUnsafe(sizeOf(group));
    let end = 0;
    for (const { event, receivedAt } of group) end = writeFrame(bytes, end, event, receivedAt);
    let written = 0;
    while (written < bytes.length) {
      const { bytesWritten } = await this.#active.write(bytes, written, bytes.length - written, segment.size + written);
      written += bytesWritten;
    }
    await this.#active.datasync();
    const first = segment.last + 1;
    segment.size += bytes.length;
    segment.last += group.length;
    this.#onAppended(segment.last);
    group.forEach(({ resolve }, index) => resolve(first + index));
  }

  async #roll(): Promise<void> {
    const next: Segment = { first: this.#segments.at(-1)!.last + 1, last: this.#segments.at(-1)!.last, size: 0 };
    const file = await openSegment(this.#folder, next);
    await this.#active.close();
    this.#active = file;
    this.#segments.push(next);
    await this.trim(this.#trimmed);
  }

  /** Cuts a segment behind `position`; the frames before it stay. */
  async #cutBehind(segment: Segment, position: number): Promise<void> {
    const file = await open(join(this.#folder, segmentName(segment.first)), "r+");
    try {
      const size = await frameEnd(file, position - segment.first + 1);
      await file.truncate(size);
      await file.datasync();
      Object.assign(segment, { size, last: position });
    } finally {
      await file.close();
    }
  }

  /** At most once a second: is there room beyond the reserve that carries on what is stored already? */
  async #checkRoom(): Promise<void> {
    if (Date.now() - this.#roomCheckedAt < 1000) return;
    const { bavail, bsize } = await statfs(this.#folder);
    if (bavail * bsize < reserveBytes) {
      throw new EngineError(
        "DISK_FULL",
        "the disk of the data dir is nearly full: make room, and events are taken again",
      );
    }
    this.#roomCheckedAt = Date.now();
  }
}

function sizeOf(group: readonly Waiting[]): number {
  return group.reduce((sum, { event }) => sum + event.length + frameOverhead, 0);
}

/** The offset behind the first `count` frames of a segment file. */
async function frameEnd(file: FileHandle, count: number): Promise<number> {
  let end = segmentHeader.length;
  const length = Buffer.alloc(4);
  for (let index = 0; index < count; index += 1) {
    await file.read(length, 0, 4, end);
    end += frameOverhead + length.readUInt32LE(0);
  }
  return end;
}

/** Opens a segment's file for writing, with its header and its name durable, and without what a crash left half written. */
async function openSegment(folder: string, segment: Segment): Promise<FileHandle> {
  const path = join(folder, segmentName(segment.first));
  const file = await open(path, segment.size === 0 ? "w+" : "r+", 0o600);
  try {
    if (segment.size === 0) {
      await file.write(segmentHeader, 0, segmentHeader.length, 0);
      segment.size = segmentHeader.length;
    } else {
      await file.truncate(segment.size);
    }
    await file.sync();
    await syncFolder(folder);
    return file;
  } catch (error) {
    await file.close();
    throw storageError(error);
  }
}

function full(limit: string): EngineError {
  return new EngineError(
    "STREAM_FULL",
    `the stream is full: ${limit} is reached and nothing is being taken out; send the event again later`,
  );
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}
