import type { DiskFile } from "../../core/disk.ts";
import { EngineError } from "../../core/errors.ts";
import { readFrame, type Format, type Frame, type Reading } from "./frame.ts";
import {
  closedSegment,
  closingOffset,
  formatOf,
  headerSize,
  segmentPath,
  type Folder,
  type Segment,
} from "./segment.ts";

const chunkBytes = 1024 * 1024;
const nothing = Buffer.alloc(0);

/** Reads the frames of one segment file, one after another, from any of them on. */
export class FrameWalk {
  readonly path: string;
  readonly first: number;
  readonly format: Format;
  /** Where the next frame begins, and the sequence of its first event. */
  offset = headerSize;
  next: number;
  readonly #file: DiskFile;
  readonly #memory: WalkMemory;
  /** What was read of the file, from `offset - #at` on. */
  #bytes: Buffer = nothing;
  #at = 0;

  private constructor(path: string, first: number, format: Format, file: DiskFile, memory: WalkMemory) {
    this.path = path;
    this.first = first;
    this.format = format;
    this.next = first;
    this.#file = file;
    this.#memory = memory;
  }

  /** Opens the file whose first event has the sequence `first`. Walks that read in turn may share `memory`. */
  static async open(folder: Folder, first: number, memory = new WalkMemory()): Promise<FrameWalk> {
    const path = segmentPath(folder, first);
    const file = await folder.disk.open(path, "read");
    try {
      const header = Buffer.alloc(headerSize);
      const size = await file.read(header, 0);
      const format = size < headerSize ? 2 : formatOf(header);
      if (format === undefined) {
        throw new EngineError(
          "STORAGE_FAILED",
          `${path}: it does not begin with the header of a segment that this version reads: restore the file from a backup`,
        );
      }
      return new FrameWalk(path, first, format, file, memory);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** Reads what is next. A frame has memory of its own and may be kept. */
  async peek(): Promise<Reading> {
    let capacity = 0;
    for (;;) {
      const reading = readFrame(this.#bytes, this.#at, this.format, this.next);
      const isAll = capacity > 0 && this.#bytes.length < capacity;
      const needed = reading.kind === "short" ? reading.needed : 0;
      if (reading.kind !== "short" || isAll) return reading;
      capacity = Math.max(chunkBytes, needed);
      await this.#fill(capacity);
    }
  }

  /** Goes on after the frame that was read last. */
  pass({ first, count, end }: Frame): void {
    this.offset += end - this.#at;
    this.#at = end;
    this.next = first + count;
  }

  /** Goes on with the frame at an offset. */
  goTo(next: number, offset: number): void {
    this.next = next;
    this.offset = offset;
    this.forget();
  }

  /** Goes on with the first frame. */
  restart(): void {
    this.goTo(this.first, headerSize);
  }

  /** Drops what was read ahead: it may have been overwritten since. */
  forget(): void {
    this.#bytes = nothing;
    this.#at = 0;
  }

  size(): Promise<number> {
    return this.#file.size();
  }

  /** The segment by the closing frame of its file; undefined where there is none. */
  async closed(): Promise<Segment | undefined> {
    const size = await this.size();
    if (this.format === 1 || size < headerSize + 8) return undefined;
    const trailer = await this.bytes(size - 8, 8);
    const offset = trailer.length < 8 ? undefined : closingOffset(trailer, size);
    if (offset === undefined) return undefined;
    return closedSegment(this.first, offset, await this.bytes(offset, size - offset));
  }

  /** At most `length` bytes of the file from an offset on. */
  async bytes(offset: number, length: number): Promise<Buffer> {
    const bytes = Buffer.alloc(Math.max(0, length));
    return bytes.subarray(0, await this.#file.read(bytes, offset));
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  async #fill(capacity: number): Promise<void> {
    this.#bytes = await this.#memory.read(this.#file, this.offset, capacity);
    this.#at = 0;
  }
}

/** Reads chunks of files into memory of their own, of which a short chunk does not keep more than it needs. */
export class WalkMemory {
  #chunk = Buffer.allocUnsafeSlow(chunkBytes);

  /** At most `capacity` bytes from an offset on, which may be kept: as events are, with the whole buffer they are in. */
  async read(file: DiskFile, offset: number, capacity: number): Promise<Buffer> {
    const chunk = capacity > chunkBytes ? Buffer.allocUnsafeSlow(capacity) : this.#chunk;
    const bytes = chunk.subarray(0, await file.read(chunk.subarray(0, capacity), offset));
    if (chunk !== this.#chunk) return bytes;
    // Most reads of a quiet stream find few bytes.
    if (bytes.length < chunkBytes) return Buffer.from(bytes);
    this.#chunk = Buffer.allocUnsafeSlow(chunkBytes);
    return bytes;
  }
}
