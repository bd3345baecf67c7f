import { gunzipSync } from "node:zlib";
import { lz4 } from "./lz4.ts";
import { tooLarge, Unreadable } from "./unreadable.ts";
import { zstd } from "./zstd.ts";

/** The compression codecs, by their number in the protocol. */
export const codecNames = ["none", "gzip", "snappy", "lz4", "zstd"] as const;

/**
 * Decompresses bytes; throws if they are malformed, or come to more than `most` bytes. It never takes much more memory
 * than `most`.
 */
export type Decompress = (bytes: Buffer, most: number) => Buffer;

/**
 * A larger batch is refused: by default brokers accept batches of 1 MB, compressed. Each takes its time in one step of the thread
 * that other pipelines share.
 */
const mostBytes = 64 * 1024 * 1024;

/** What earlier versions took: events of a batch that they have prepared are read again. */
export const mostBytesBefore = 128 * 1024 * 1024;

/** Decompresses the records of batches. */
export class Codecs {
  readonly #codecs: readonly Decompress[];
  readonly #most: number;

  private constructor(codecs: readonly Decompress[], most: number) {
    this.#codecs = codecs;
    this.#most = most;
  }

  /**
   * `most`: the most bytes of the decompressed records of a batch. A package that does not load fails only batches that
   * need it.
   */
  static async load(most: number = mostBytes): Promise<Codecs> {
    const loads = [Promise.resolve((bytes: Buffer) => bytes), Promise.resolve(gzip), snappy(), lz4(), zstd()];
    const loaded = await Promise.allSettled(loads);
    return new Codecs(
      loaded.map((one) => (one.status === "fulfilled" ? one.value : failing(one.reason))),
      most,
    );
  }

  /** Throws `Unreadable`. Without compression it returns the given bytes. */
  decompress(codec: number, bytes: Buffer): Buffer {
    const decompress = this.#codecs[codec];
    if (decompress === undefined) {
      throw new Unreadable(`expected records compressed with ${codecNames.join(", ")}, found codec ${codec}`);
    }
    try {
      return decompress(bytes, this.#most);
    } catch (error) {
      const name = codecNames[codec]!;
      throw new Unreadable(`expected ${bytes.length} bytes of records compressed with ${name}: ${textOf(error)}`);
    }
  }
}

/** Throws why a codec did not load, once a batch needs it. */
function failing(reason: unknown): Decompress {
  return () => {
    throw new Error(`its package did not load: ${textOf(reason)}`);
  };
}

const [leastChunk, mostChunk] = [64, 1024 * 1024];

function gzip(bytes: Buffer, most: number): Buffer {
  // The last four bytes hold the decompressed size: one chunk of that size is a fifth faster than many of the default
  // size.
  const size = bytes.length < 4 ? 0 : bytes.readUInt32LE(bytes.length - 4);
  const chunkSize = Math.min(Math.max(leastChunk, size), mostChunk);
  try {
    return gunzipSync(bytes, { maxOutputLength: most, chunkSize });
  } catch (error) {
    throw (error as { code?: unknown }).code === "ERR_BUFFER_TOO_LARGE" ? tooLarge(most, "more") : error;
  }
}

function textOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, 200);
}

/**
 * The head of the Java library's format: magic bytes, its version, and the oldest version that can read it, 4 bytes
 * each.
 */
const javaMagic = Buffer.from("\x82SNAPPY\0", "latin1");
const javaHead = javaMagic.length + 8;

/** Snappy as Kafka's clients write it: one block, or the Java format with many blocks, each after its length. */
async function snappy(): Promise<Decompress> {
  const { uncompressSync } = await import("snappy");
  const take = (block: Buffer): Buffer => uncompressSync(block, { asBuffer: true }) as Buffer;
  return (bytes, most) => {
    const isFramed = bytes.length >= javaHead && bytes.subarray(0, javaMagic.length).equals(javaMagic);
    const blocks = isFramed ? blocksOf(bytes) : [bytes];
    const size = blocks.reduce((sum, block) => sum + sizeOf(block), 0);
    if (size > most) throw tooLarge(most, String(size));
    return blocks.length === 1 ? take(blocks[0]!) : Buffer.concat(blocks.map(take), size);
  };
}

function blocksOf(bytes: Buffer): Buffer[] {
  const blocks: Buffer[] = [];
  for (let at = javaHead; at < bytes.length;) {
    const length = at + 4 <= bytes.length ? bytes.readInt32BE(at) : -1;
    const end = at + 4 + length;
    if (length < 0 || end > bytes.length) {
      throw new Unreadable(`expected a block within the ${bytes.length - at} bytes left, found a length of ${length}`);
    }
    blocks.push(bytes.subarray(at + 4, end));
    at = end;
  }
  return blocks;
}

/** The decompressed size of a block, which its first bytes hold: a varint of at most 32 bits. */
function sizeOf(block: Buffer): number {
  let size = 0;
  for (let at = 0; at < 5; at += 1) {
    const byte = block[at] ?? 0;
    size += (byte & 0x7f) * 2 ** (7 * at);
    if (byte < 0x80) return size;
  }
  throw new Unreadable("expected the length of a block in at most 5 bytes, found more");
}
