import type { Signal } from "../../../core/push.ts";
import type { Decoded, ToDecode } from "./decode.ts";

/** Bytes in memory that both threads see, from its beginning on. */
export interface SharedBytes {
  memory: SharedArrayBuffer;
  length: number;
}

/** What the thread that decodes is asked. */
export type Question = Omit<ToDecode, "body"> & { body: SharedBytes };

/** What it answers. Its rows are valid until it is asked again; without `memory` they are where those before them were. */
export type Answer =
  | {
      kind: "rows";
      rows: Omit<SharedBytes, "memory"> & Partial<SharedBytes>;
      ends: Uint32Array;
      receivedAt: number;
      signal: Signal;
    }
  | Exclude<Decoded, { kind: "rows" }>;

/** Memory of this and more bytes is not kept. */
const kept = 8 * 1024 * 1024;

/** Whether memory is used for further messages. */
export function isKept(memory: SharedArrayBuffer): boolean {
  return memory.byteLength < kept;
}

/** Memory that one thread writes and another one reads, used again for each message. */
export class SharedMemory {
  #memory = new SharedArrayBuffer(0);

  /** So many bytes, from the beginning of `memory` on: what is there stays where it was. */
  take(size: number): Buffer {
    if (this.#memory.byteLength < size) this.#memory = new SharedArrayBuffer(size);
    return Buffer.from(this.#memory, 0, size);
  }

  /** What was written to the last bytes that were taken, to be sent. */
  share(length: number): SharedBytes {
    const memory = this.#memory;
    if (!isKept(memory)) this.#memory = new SharedArrayBuffer(0);
    return { memory, length };
  }
}

/** The bytes that another thread shares. */
export function bytesIn({ memory, length }: SharedBytes): Buffer {
  return Buffer.from(memory, 0, length);
}
