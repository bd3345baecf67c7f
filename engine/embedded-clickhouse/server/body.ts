import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { raise } from "./exception.ts";
import type { SpoolFile } from "./spool.ts";

/** The most bytes of a body after decompression. An insert of Sluice is one block of at most 256 MB, far below. */
const maxBody = 1 << 30;

/**
 * The body of a request, decompressed and complete. It is read once, in order: first a head, which may hold the
 * statement, then the rest.
 */
export class Body {
  readonly #request: IncomingMessage;
  #source: Readable | undefined;
  #chunks: AsyncIterator<Buffer> | undefined;
  #size = 0;

  constructor(request: IncomingMessage) {
    this.#request = request;
  }

  /** The first bytes: at least `limit`, or all if there are fewer. */
  async head(limit: number): Promise<{ bytes: Buffer; ended: boolean }> {
    const parts: Buffer[] = [];
    let length = 0;
    while (length < limit) {
      const chunk = await this.#next();
      if (!chunk) return { bytes: Buffer.concat(parts), ended: true };
      parts.push(chunk);
      length += chunk.length;
    }
    return { bytes: Buffer.concat(parts), ended: false };
  }

  /** Writes the unread rest to a file. When it resolves, the whole body has arrived. */
  async into(file: SpoolFile): Promise<void> {
    for (let chunk = await this.#next(); chunk; chunk = await this.#next()) await file.write(chunk);
  }

  /** Reads the rest and drops it: an answer that is sent before the request was read may be lost. */
  async discard(): Promise<void> {
    const request = this.#request;
    if (this.#source === request) await this.#exhaust();
    else {
      request.unpipe();
      this.#source?.destroy();
      request.resume();
      if (!request.readableEnded) await finished(request).catch(() => undefined);
    }
  }

  async #exhaust(): Promise<void> {
    try {
      while (!(await this.#chunks?.next())?.done);
    } catch {
      // The client has disconnected: it expects no answer.
    }
  }

  async #next(): Promise<Buffer | undefined> {
    this.#source ??= decoded(this.#request);
    this.#chunks ??= this.#source[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    const { done, value } = await this.#chunks.next().catch(broken);
    if (done) return this.#complete();
    this.#size += value.length;
    if (this.#size > maxBody) throw raise("QUERY_IS_TOO_LARGE", `The body is larger than ${maxBody} bytes.`);
    return value;
  }

  #complete(): undefined {
    if (!this.#request.complete)
      throw raise("NETWORK_ERROR", "The body broke off before its end. Nothing was inserted.");
    return undefined;
  }
}

function decoded(request: IncomingMessage): Readable {
  const encoding = request.headers["content-encoding"] ?? "identity";
  if (encoding === "identity" || encoding === "") return request;
  const decoder = Object.hasOwn(decoders, encoding) ? decoders[encoding]?.() : undefined;
  if (!decoder) {
    const known = Object.keys(decoders).join(", ");
    throw raise(
      "UNKNOWN_COMPRESSION_METHOD",
      `Unknown Content-Encoding ${JSON.stringify(encoding.slice(0, 32))}. Expected one of ${known}.`,
    );
  }
  request.on("error", (error) => decoder.destroy(error));
  // A reader gets the error from its iterator; before there is one, the error must not be unhandled.
  decoder.on("error", () => undefined);
  return request.pipe(decoder);
}

const decoders: Record<string, () => NodeJS.ReadWriteStream & Readable> = {
  gzip: () => createGunzip(),
  br: () => createBrotliDecompress(),
  deflate: () => createInflate(),
};

function broken(error: NodeJS.ErrnoException): never {
  if (error.code === "ECONNRESET" || error.code === "ERR_STREAM_PREMATURE_CLOSE") {
    throw raise("NETWORK_ERROR", "The body broke off before its end. Nothing was inserted.");
  }
  throw raise("ZLIB_INFLATE_FAILED", `Cannot decompress the body: ${error.message}.`);
}
