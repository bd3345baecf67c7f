import type { Rows } from "../rows/rows.ts";
import type { Decoded, ToDecode } from "./decode.ts";

/**
 * Bytes in memory that both threads see, from its beginning on. `memory` is sent with the first bytes in it, and not again:
 * each time it arrives, the garbage collector of the other thread counts all of its bytes anew.
 */
export interface SharedBytes {
  /** Names the memory; absent where it is used once. */
  id?: number;
  memory?: SharedArrayBuffer;
  length: number;
}

/** What the thread that decodes is asked. */
export type Question = Omit<ToDecode, "body"> & {
  body: SharedBytes;
  /** The memories of rows that are stored, which may be written again. */
  stored: readonly number[];
};

/** What it answers. Its rows are valid until a question says that they are stored. */
export type Answer =
  | ({ kind: "rows"; rows: SharedBytes; ends: Uint32Array } & Omit<Rows, "bytes" | "ends">)
  | Exclude<Decoded, { kind: "rows" }>;

/** Memories that are used again have so many bytes together at most, each a multiple of `step`. */
const [keptBytes, step] = [32 * 1024 * 1024, 256 * 1024];
/** One of this and more bytes is used once. */
const largest = 8 * 1024 * 1024;

interface Memory {
  /** Absent where it is used once. */
  id?: number;
  memory: SharedArrayBuffer;
  /** The other thread has it. */
  isKnown?: true;
}

/** The memories that one thread writes for another one. */
export class WrittenMemories {
  readonly #free: Memory[] = [];
  readonly #sent = new Map<number, Memory>();
  #kept = 0;
  #last = 0;
  #taken: Memory | undefined;

  /** At least so many bytes, to be written. What was taken before and not sent is free again. */
  take(size: number): Buffer {
    if (this.#taken?.id !== undefined) this.#free.push(this.#taken);
    this.#taken = this.#fitting(size) ?? this.#made(size);
    return Buffer.from(this.#taken.memory, 0, size);
  }

  /** What was written to the bytes that were taken, to be sent. */
  send(length: number): SharedBytes {
    const taken = this.#taken!;
    const { id, memory, isKnown } = taken;
    this.#taken = undefined;
    if (id === undefined) return { memory, length };
    taken.isKnown = true;
    this.#sent.set(id, taken);
    return { id, length, ...(isKnown !== true && { memory }) };
  }

  /** These have been read. */
  release(ids: readonly number[]): void {
    for (const id of ids) {
      const memory = this.#sent.get(id);
      if (this.#sent.delete(id)) this.#free.push(memory!);
    }
  }

  /** The smallest one that is free and large enough. */
  #fitting(size: number): Memory | undefined {
    let found = -1;
    for (const [index, { memory }] of this.#free.entries()) {
      if (memory.byteLength < size) continue;
      if (found === -1 || memory.byteLength < this.#free[found]!.memory.byteLength) found = index;
    }
    return found === -1 ? undefined : this.#free.splice(found, 1)[0];
  }

  /** One that is too large, or for which there is no room, is used once. */
  #made(size: number): Memory {
    const bytes = Math.ceil(size / step) * step;
    if (bytes >= largest || this.#kept + bytes > keptBytes) return { memory: new SharedArrayBuffer(size) };
    this.#kept += bytes;
    return { id: (this.#last += 1), memory: new SharedArrayBuffer(bytes) };
  }
}

/** The memories of the other thread. */
export class ReadMemories {
  readonly #known = new Map<number, SharedArrayBuffer>();

  /** The bytes that the other thread has sent. */
  read({ id, memory, length }: SharedBytes): Buffer {
    if (id !== undefined && memory !== undefined) this.#known.set(id, memory);
    const found = memory ?? (id === undefined ? undefined : this.#known.get(id));
    if (found === undefined) throw new Error(`memory ${id} of another thread: expected one that was sent before`);
    return Buffer.from(found, 0, length);
  }
}
