import * as zlib from "node:zlib";
import type { Decompress } from "./codecs.ts";
import { tooLarge, Unreadable } from "./unreadable.ts";

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

const magic = 0xfd2fb528;
/** What one block can come to. */
const mostOfBlock = 128 * 1024;

/** One of the frames that compressed bytes are made of. */
interface ZstdFrame {
  start: number;
  end: number;
  /** What it comes to, if its head says so. Java's client does not write it. */
  size: number | undefined;
  /** What it can come to at most: its size, or else the sum over its blocks. */
  largest: number;
}

/** The frames of some bytes, which have to be whole. */
function framesOf(bytes: Buffer): ZstdFrame[] {
  const frames: ZstdFrame[] = [];
  for (let at = 0; at < bytes.length || frames.length === 0; at = frames.at(-1)!.end) frames.push(frameAt(bytes, at));
  return frames;
}

function frameAt(bytes: Buffer, start: number): ZstdFrame {
  if (start + 6 > bytes.length || bytes.readUInt32LE(start) !== magic) {
    throw new Unreadable("expected a zstd frame, found none");
  }
  const { size, headEnd, hasChecksum } = headAt(bytes, start + 4);
  const blocks = blocksAt(bytes, headEnd);
  const end = blocks.end + (hasChecksum ? 4 : 0);
  if (end > bytes.length) throw cut();
  return { start, end, size, largest: size ?? blocks.largest };
}

interface FrameHead {
  size: number | undefined;
  headEnd: number;
  hasChecksum: boolean;
}

function headAt(bytes: Buffer, at: number): FrameHead {
  const flags = bytes[at]!;
  const isSingle = (flags & 0x20) !== 0;
  const dictionaryBytes = [0, 1, 2, 4][flags & 0x03]!;
  const sizeBytes = [isSingle ? 1 : 0, 2, 4, 8][flags >> 6]!;
  const sizeAt = at + 1 + (isSingle ? 0 : 1) + dictionaryBytes;
  const headEnd = sizeAt + sizeBytes;
  if (headEnd > bytes.length) throw cut();
  return { size: sizeOf(bytes, sizeAt, sizeBytes), headEnd, hasChecksum: (flags & 0x04) !== 0 };
}

function sizeOf(bytes: Buffer, at: number, sizeBytes: number): number | undefined {
  if (sizeBytes === 0) return undefined;
  if (sizeBytes === 8) return Number(bytes.readBigUInt64LE(at));
  return bytes.readUIntLE(at, sizeBytes) + (sizeBytes === 2 ? 256 : 0);
}

/** Where the blocks of a frame end, and what they can come to. */
function blocksAt(bytes: Buffer, start: number): { end: number; largest: number } {
  let largest = 0;
  for (let at = start; at + 3 <= bytes.length;) {
    const head = bytes.readUIntLE(at, 3);
    const [isLast, kind, size] = [(head & 1) === 1, (head >> 1) & 3, head >> 3];
    at += 3 + (kind === repeated ? 1 : size);
    largest += kind === compressed ? mostOfBlock : size;
    if (isLast) return { end: at, largest };
  }
  throw cut();
}

/** Kinds of blocks. The others are bytes as they are, which say their size, and one that is not in use. */
const [repeated, compressed] = [1, 2];

function cut(): Unreadable {
  return new Unreadable("expected a whole zstd frame, found one without its end");
}
