import { decompress, init } from "@bokuweb/zstd-wasm";
import kafkajs from "kafkajs";
import { decompressFrameSync } from "lz4-napi";
import { uncompressSync } from "snappy";

/** The header of snappy as Java writes it: 8 bytes of magic and two versions; then blocks, each behind its length. */
const javaSnappy = Buffer.from("82534e4150505900", "hex");
const javaSnappyHeader = 16;
/** What the records of a batch may come to: the streams of Java do not say how long they are. */
const zstdBytes = 16 * 1024 * 1024;

/** Lets kafkajs read what is compressed by snappy, lz4 and zstd. It is for looking at topics: nothing is limited. */
export async function registerReadCodecs(): Promise<void> {
  await init();
  const { CompressionTypes, CompressionCodecs } = kafkajs;
  CompressionCodecs[CompressionTypes.Snappy] = () => readOnly(snappy);
  CompressionCodecs[CompressionTypes.LZ4] = () => readOnly(decompressFrameSync);
  CompressionCodecs[CompressionTypes.ZSTD] = () =>
    readOnly((bytes) => Buffer.from(decompress(bytes, { defaultHeapSize: zstdBytes })));
}

function readOnly(decode: (bytes: Buffer) => Buffer) {
  return { compress: refuse, decompress: async (bytes: Buffer) => decode(bytes) };
}

function refuse(): never {
  throw new Error("this codec only reads; let Java write compressed records");
}

function snappy(bytes: Buffer): Buffer {
  if (!bytes.subarray(0, javaSnappy.length).equals(javaSnappy)) return uncompressSync(bytes) as Buffer;
  const blocks: Buffer[] = [];
  for (let at = javaSnappyHeader; at < bytes.length;) {
    const end = at + 4 + bytes.readUInt32BE(at);
    blocks.push(uncompressSync(bytes.subarray(at + 4, end)) as Buffer);
    at = end;
  }
  return Buffer.concat(blocks);
}
