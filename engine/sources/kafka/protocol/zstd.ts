import * as zlib from "node:zlib";
import type { Decompress } from "./codecs.ts";
import { tooLarge, Unreadable } from "./unreadable.ts";

/** Node has zstd from 22.15 on; the type definitions are those of the oldest supported Node. */
type Native = (bytes: Buffer, options: { maxOutputLength: number }) => Buffer;

/** Decompresses one frame; throws if it comes to more than `room` bytes. */
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

/** Once in each thread: a second initialisation breaks the library's memory. */
let initialised: Promise<void> | undefined;

async function wasmFrame(): Promise<TakeFrame> {
  const { decompress, init } = await import("@bokuweb/zstd-wasm");
  await (initialised ??= init());
  return (frame, room) => {
    try {
      // Where the frame states its size, the library allocates that much; the size was compared with the limit before.
      const bytes = decompress(frame, { defaultHeapSize: room });
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    } catch (error) {
      throw String(error).endsWith("-70") ? tooLarge(room, "more") : error;
    }
  };
}

const magic = 0xfd2fb528;
/** The most bytes that one block can come to. */
const mostOfBlock = 128 * 1024;

/** One of the frames that compressed bytes are made of. */
interface ZstdFrame {
  start: number;
  end: number;
  /** Its decompressed size, if its head has it. Java's client does not write it. */
  size: number | undefined;
  /** The most bytes that it can come to: its size, or else the sum over its blocks. */
  largest: number;
}

/** The frames in some bytes, all of which must be whole. */
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

/** Where the blocks of a frame end, and the most bytes that they can come to. */
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

/** Kinds of blocks. The other two are uncompressed bytes, which have their size, and a reserved kind. */
const [repeated, compressed] = [1, 2];

function cut(): Unreadable {
  return new Unreadable("expected a whole zstd frame, found one without its end");
}
