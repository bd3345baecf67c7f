import { open, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import type { Event } from "../../core/batch.ts";
import { EngineError } from "../../core/errors.ts";
import type { StreamReader } from "../../core/stream.ts";
import { frameOverhead, readFrame, segmentHeader, segmentName, toEvent } from "./segment.ts";
import { maxEventBytes, segmentFirsts } from "./segments.ts";

const chunkBytes = 1024 * 1024;

/**
 * Reads a stream's segment files from another thread than the one that writes them. It reads no further than `tail`,
 * the newest sequence that the writer called durable, and so never sees a half-written frame.
 */
export class EmbeddedReader implements StreamReader {
  readonly #folder: string;
  #tail: number;
  #file: FileHandle | undefined;
  readonly #scratch = Buffer.allocUnsafe(chunkBytes);
  /** Where the next frame of `#file` is, and the sequence that it holds. */
  #offset = 0;
  #next = 0;
  /** Bytes of the file from `#offset - #at` on, read ahead. */
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;

  constructor(folder: string, tail: number) {
    this.#folder = folder;
    this.#tail = tail;
  }

  /** Tells the newest durable sequence. */
  advance(tail: number): void {
    this.#tail = Math.max(this.#tail, tail);
  }

  async read(position: number, limit: number, maxBytes: number): Promise<Event[]> {
    const events: Event[] = [];
    let bytes = 0;
    if (position > this.#tail) return events;
    if (this.#file === undefined || position < this.#next) await this.#openAt(position);
    while (events.length < limit && bytes < maxBytes && this.#next <= this.#tail) {
      const frame = await this.#frame();
      if (frame === undefined) {
        if (!(await this.#openNext())) break;
        continue;
      }
      if (this.#next >= position) {
        events.push(toEvent(this.#next, frame));
        bytes += frame.event.length;
      }
      this.#offset += frame.end - this.#at;
      this.#at = frame.end;
      this.#next += 1;
    }
    return events;
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }

  /**
   * The next frame; undefined at the end of this segment. What was read ahead may hold a part of a frame that was being
   * written just then, so only bytes that were read just now can be called damaged.
   */
  async #frame(): Promise<Extract<ReturnType<typeof readFrame>, { kind: "frame" }> | undefined> {
    let isFresh = false;
    for (;;) {
      const frame = readFrame(this.#bytes, this.#at, maxEventBytes);
      if (frame.kind === "frame") return frame;
      if (isFresh && frame.kind === "torn") throw this.#damaged();
      const capacity = Math.max(chunkBytes, isFresh ? this.#frameSize() : 0);
      if (isFresh && this.#bytes.length - this.#at < capacity && capacity === chunkBytes) return undefined;
      const chunk = capacity > this.#scratch.length ? Buffer.allocUnsafe(capacity) : this.#scratch;
      const { bytesRead } = await this.#file!.read(chunk, 0, capacity, this.#offset);
      // A copy of what came: most reads find little, and events keep the memory that they lie in.
      this.#bytes = Buffer.from(chunk.subarray(0, bytesRead));
      this.#at = 0;
      if (isFresh && bytesRead < capacity) return undefined;
      isFresh = true;
    }
  }

  /** Size of the frame whose beginning has been read; never more than a frame can have. */
  #frameSize(): number {
    const isThere = this.#bytes.length - this.#at >= 4;
    return isThere ? Math.min(this.#bytes.readUInt32LE(this.#at), maxEventBytes) + frameOverhead : 0;
  }

  async #openAt(position: number): Promise<void> {
    const firsts = await segmentFirsts(this.#folder);
    const first = firsts.findLast((candidate) => candidate <= position) ?? firsts[0];
    if (first === undefined) throw this.#damaged();
    await this.#open(first);
  }

  /** Goes on to the segment behind this one; a gap between them was dropped on purpose. */
  async #openNext(): Promise<boolean> {
    const firsts = await segmentFirsts(this.#folder);
    const first = firsts.find((candidate) => candidate >= this.#next);
    if (first === undefined) return false;
    await this.#open(first);
    return true;
  }

  async #open(first: number): Promise<void> {
    await this.#file?.close();
    this.#file = await open(join(this.#folder, segmentName(first)), "r");
    this.#offset = segmentHeader.length;
    this.#next = first;
    this.#bytes = Buffer.alloc(0);
    this.#at = 0;
  }

  #damaged(): EngineError {
    return new EngineError(
      "STORAGE_FAILED",
      `${this.#folder}: the event ${this.#next} is damaged or missing: restore the folder`,
    );
  }
}
