import type { Decompress } from "./codecs.ts";
import { tooLarge, Unreadable } from "./unreadable.ts";

const magic = 0x184d2204;

/**
 * Decompresses an LZ4 frame. The library has no size limit, so the most that the frame may come to is computed from its
 * block heads.
 */
export async function lz4(): Promise<Decompress> {
  const { decompressFrameSync } = await import("lz4-napi");
  return (bytes, most) => {
    const { end, largest } = extent(bytes);
    if (largest > most) throw tooLarge(most, `up to ${largest}`);
    return decompressFrameSync(bytes.subarray(0, end));
  };
}

/**
 * Where a frame ends, and the most bytes that it can come to. Clients fill all blocks but the last, so that is close.
 */
function extent(bytes: Buffer): { end: number; largest: number } {
  const { flags, blockSize, headEnd } = headOf(bytes);
  const hasBlockChecksums = (flags & 0x10) !== 0;
  const hasChecksum = (flags & 0x04) !== 0;
  let largest = 0;
  for (let at = headEnd; at + 4 <= bytes.length;) {
    const length = bytes.readUInt32LE(at);
    at += 4;
    if (length === 0) {
      const end = at + (hasChecksum ? 4 : 0);
      if (end > bytes.length) break;
      return { end, largest };
    }
    const stored = length & 0x7fffffff;
    largest += length === stored ? Math.min(blockSize, 255 * stored) : stored;
    at += stored + (hasBlockChecksums ? 4 : 0);
  }
  throw new Unreadable("expected a whole LZ4 frame, found one without its end");
}

interface FrameHead {
  flags: number;
  /** The most bytes that one block can come to. */
  blockSize: number;
  headEnd: number;
}

function headOf(bytes: Buffer): FrameHead {
  if (bytes.length < 7 || bytes.readUInt32LE(0) !== magic) throw new Unreadable("expected an LZ4 frame, found none");
  const flags = bytes[4]!;
  const sizeCode = (bytes[5]! >> 4) & 0x07;
  if (sizeCode < 4) throw new Unreadable(`expected an LZ4 block size of 4 to 7, found ${sizeCode}`);
  const contentSize = (flags & 0x08) === 0 ? 0 : 8;
  const dictionary = (flags & 0x01) === 0 ? 0 : 4;
  return { flags, blockSize: 2 ** (8 + 2 * sizeCode), headEnd: 7 + contentSize + dictionary };
}

/**
 * The frame with the correct checksum of its head: the clients that wrote messages of format 0 computed it over the
 * magic bytes too, and libraries refuse that.
 */
export function withHeadChecksum(frame: Buffer): Buffer {
  const { headEnd } = headOf(frame);
  if (headEnd > frame.length) return frame;
  const mended = Buffer.from(frame);
  mended[headEnd - 1] = (xxh32(frame.subarray(4, headEnd - 1)) >>> 8) & 0xff;
  return mended;
}

const [prime1, prime2, prime3, prime4, prime5] = [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f, 0x165667b1] as const;

/** The hash xxHash32, with seed 0, of at most 15 bytes. */
function xxh32(bytes: Buffer): number {
  let hash = (prime5 + bytes.length) | 0;
  let at = 0;
  for (; at + 4 <= bytes.length; at += 4) {
    hash = Math.imul(rotated((hash + Math.imul(bytes.readUInt32LE(at), prime3)) | 0, 17), prime4);
  }
  for (; at < bytes.length; at += 1) {
    hash = Math.imul(rotated((hash + Math.imul(bytes[at]!, prime5)) | 0, 11), prime1);
  }
  hash = Math.imul(hash ^ (hash >>> 15), prime2);
  hash = Math.imul(hash ^ (hash >>> 13), prime3);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function rotated(value: number, by: number): number {
  return (value << by) | (value >>> (32 - by));
}
