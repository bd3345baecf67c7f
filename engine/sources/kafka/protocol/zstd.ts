import * as zlib from "node:zlib";
import type { Decompress } from "./codecs.ts";
import { tooLarge } from "./unreadable.ts";
import { framesOf } from "./zstd-frames.ts";

/** Node has zstd from 22.15 on; the types are those of the oldest Node that the project runs on. */
type Native = (bytes: Buffer, options: { maxOutputLength: number }) => Buffer;

/** Takes out one frame; throws if it comes to more than `room` bytes. */
type TakeFrame = (frame: Buffer, room: number) => Buffer;

/** Zstandard: Node's own where it has it, else WebAssembly, whose memory grows to what the largest batch took and stays. */
export async function zstd(): Promise<Decompress> {
  const native = (zlib as { zstdDecompressSync?: Native }).zstdDecompressSync;
  const take = native === undefined ? await wasmFrame() : nativeFrame(native);
  return (bytes, most) => {
    const frames = framesOf(bytes);
    const known = frames.reduce((sum, { size }) => sum + (size ?? 0), 0);
    if (known > most) throw tooLarge(most, String(known));
    const parts: Buffer[] = [];
    let left = most;
    for (const { start, end, largest } of frames) {
      const part = take(bytes.subarray(start, end), Math.min(largest, left));
      if (part.length > left) throw tooLarge(most, "more");
      left -= part.length;
      parts.push(part);
    }
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
  };
}

function nativeFrame(native: Native): TakeFrame {
  return (frame, room) => {
    try {
      return native(frame, { maxOutputLength: Math.max(1, room) });
    } catch (error) {
      throw (error as { code?: unknown }).code === "ERR_BUFFER_TOO_LARGE" ? tooLarge(room, "more") : error;
    }
  };
}

/** Once for the thread: to initialise the library again breaks its memory. */
let initialised: Promise<void> | undefined;

async function wasmFrame(): Promise<TakeFrame> {
  const { decompress, init } = await import("@bokuweb/zstd-wasm");
  await (initialised ??= init());
  return (frame, room) => {
    try {
      // The library takes its room from the frame where that says its size, which was compared with the bound before.
      const bytes = decompress(frame, { defaultHeapSize: room });
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    } catch (error) {
      throw String(error).endsWith("-70") ? tooLarge(room, "more") : error;
    }
  };
}
