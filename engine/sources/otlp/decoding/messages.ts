import type { Signal } from "../../../core/push.ts";
import type { Decoded, ToDecode } from "./decode.ts";

/** What the thread that decodes is asked: a Buffer arrives as a plain Uint8Array. */
export type Question = Omit<ToDecode, "body"> & { body: Uint8Array };

/** What it answers. */
export type Answer =
  | { kind: "rows"; bytes: Uint8Array; ends: Uint32Array; receivedAt: number; signal: Signal }
  | Exclude<Decoded, { kind: "rows" }>;

/** Bytes to be transferred to another thread, without a copy where they have their memory mostly for themselves. */
export function movable(bytes: Buffer): Uint8Array<ArrayBuffer> {
  const { buffer, length } = bytes;
  // Small buffers share the memory of a pool, which cannot be transferred.
  const isOwn = length >= Buffer.poolSize && 2 * length >= buffer.byteLength && buffer instanceof ArrayBuffer;
  return isOwn ? new Uint8Array(buffer, bytes.byteOffset, length) : new Uint8Array(bytes);
}
