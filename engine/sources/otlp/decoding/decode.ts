import { gunzipSync } from "node:zlib";
import type { Signal } from "../../../core/push.ts";
import { MalformedRequest, OversizedRequest } from "../protobuf/wire.ts";
import { type RowMemory, type RowRules, type Rows, rowsOf } from "../rows/rows.ts";

/** The largest body, in bytes, as it is sent and after decompression. */
export const maxBody = 4 * 1024 * 1024;

export type Encoding = "protobuf" | "json";

/** The body of a request, and what it is. */
export interface ToDecode extends RowRules {
  signal: Signal;
  encoding: Encoding;
  body: Buffer;
  isCompressed: boolean;
  /** In milliseconds since the epoch. */
  receivedAt: number;
}

/** Why a body is refused: it is not a request, it is too large after decompression, or its rows would be. */
export type BodyProblem = "malformed" | "too_large" | "never_fits";

/** The rows of a body, or why it is refused, with a message for the sender. */
export type Decoded = { kind: "rows"; push: Rows } | { kind: BodyProblem; message: string };

/** Makes rows of a body. One whose rows take more bytes than `memory` says is refused as `never_fits`. */
export function decode(request: ToDecode, memory?: RowMemory): Decoded {
  const { signal, encoding, body, isCompressed, receivedAt } = request;
  try {
    const bytes = isCompressed ? inflated(body) : body;
    return { kind: "rows", push: rowsOf(signal, bytes, encoding, receivedAt, memory, request) };
  } catch (error) {
    if (error instanceof BodyTooLarge) return { kind: "too_large", message: error.message };
    if (error instanceof OversizedRequest) return { kind: "never_fits", message: error.message };
    if (error instanceof MalformedRequest) return { kind: "malformed", message: error.message };
    throw error;
  }
}

class BodyTooLarge extends Error {}

/** Decompresses a gzip body; never makes more than `maxBody` bytes of it. */
function inflated(body: Buffer): Buffer {
  try {
    return gunzipSync(body, { maxOutputLength: maxBody });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") {
      throw new BodyTooLarge(`expected a body of at most ${maxBody} bytes after decompression`, { cause: error });
    }
    throw new MalformedRequest("expected a body in gzip, as its Content-Encoding says", { cause: error });
  }
}
