import type { Decompress } from "./codecs.ts";
import { tooLarge, Unreadable } from "./unreadable.ts";

/** How Java's library begins: its magic bytes, then its version and the oldest that can read it, 4 bytes each. */
const javaMagic = Buffer.from("\x82SNAPPY\0", "latin1");
const javaHead = javaMagic.length + 8;

/** Snappy as Kafka's clients write it: one block, or Java's frame around many, each after its length. */
export async function snappy(): Promise<Decompress> {
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

/** What a block comes to, which its first bytes say: a varint of at most 32 bits. */
function sizeOf(block: Buffer): number {
  let size = 0;
  for (let at = 0; at < 5; at += 1) {
    const byte = block[at] ?? 0;
    size += (byte & 0x7f) * 2 ** (7 * at);
    if (byte < 0x80) return size;
  }
  throw new Unreadable("expected the length of a block in at most 5 bytes, found more");
}
