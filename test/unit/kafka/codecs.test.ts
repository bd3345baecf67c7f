import { constants, gzipSync } from "node:zlib";
import { compressFrameSync } from "lz4-napi";
import { compressSync as compressSnappy } from "snappy";
import { describe, expect, test } from "vitest";
import { Codecs, codecNames } from "../../../engine/sources/kafka/protocol/codecs.ts";
import { Unreadable } from "../../../engine/sources/kafka/protocol/unreadable.ts";
import { read } from "./read.ts";
import { batchBytes, compressors, fetched, javaSnappy, numbered, zstd as zstdOf } from "./written.ts";

const [gzip, snappy, lz4, zstd] = [1, 2, 3, 4];
const most = 8 * 1024 * 1024;
const codecs = await Codecs.load(most);

/** Bytes that compress somewhat. */
const text = Buffer.from(Array.from({ length: 40_000 }, (_, at) => `{"n":${at * 7919}}`).join("\n"));

test.each(codecNames.map((name, codec) => [name, codec] as const))(
  "%s gives back what was compressed",
  (_name, codec) => {
    for (const bytes of [text, text.subarray(0, 1), Buffer.alloc(0), Buffer.alloc(most)]) {
      expect(codecs.decompress(codec, compressors[codec]!(bytes)).equals(bytes)).toBe(true);
    }
  },
);

test.each(codecNames.map((name, codec) => [name, codec] as const))(
  "batches of %s and of nothing in turn",
  (_name, codec) => {
    const records = Buffer.concat([
      batchBytes({ records: numbered(5, 0) }),
      batchBytes({ baseOffset: 5, records: numbered(500, 5), codec }),
      batchBytes({ baseOffset: 505, records: numbered(5, 505), codec }),
      batchBytes({ baseOffset: 510, records: numbered(5, 510) }),
    ]);
    const { records: found, nextOffset, runs } = read(fetched(records), 3);
    expect(found).toEqual(Array.from({ length: 512 }, (_, at) => [at + 3, String(at + 3)]));
    expect(nextOffset).toBe(515);
    expect(runs).toEqual(codec === 0 ? [512] : [2, 500, 5, 5]);
  },
);

test.each<[string, number, Buffer]>([
  ["a snappy block without Java's frame", snappy, compressSnappy(text)],
  ["Java's frame of snappy with one block", snappy, javaSnappy(text.subarray(0, 1000))],
  ["Java's frame of snappy with many blocks", snappy, javaSnappy(text, 1000)],
  ["an LZ4 frame with checksums", lz4, compressFrameSync(text, { contentChecksum: true, blockChecksums: true })],
  ["an LZ4 frame with something behind it", lz4, Buffer.concat([compressFrameSync(text), Buffer.from("more")])],
  ["a zstd frame after the other", zstd, Buffer.concat([zstdOf(text), zstdOf(text)])],
  ["gzip without compression", gzip, gzipSync(text, { level: constants.Z_NO_COMPRESSION })],
])("%s", (_title, codec, bytes) => {
  const found = codecs.decompress(codec, bytes);
  expect(found.subarray(0, 1000).equals(text.subarray(0, 1000))).toBe(true);
});

/** Blocks of one byte over and over, 128 KB each: a frame of 4 bytes a block. */
function repeating(blocks: number, size = 131_072): Buffer {
  const head = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38]);
  const block = (isLast: boolean): Buffer => {
    const bytes = Buffer.alloc(4, 0x61);
    bytes.writeUIntLE((size << 3) | (1 << 1) | (isLast ? 1 : 0), 0, 3);
    return bytes;
  };
  return Buffer.concat([head, ...Array.from({ length: blocks }, (_, at) => block(at === blocks - 1))]);
}

describe("zstd frames that do not say what they come to, as Java's client writes them", () => {
  test("up to the bound", () => {
    expect(codecs.decompress(zstd, repeating(64)).equals(Buffer.alloc(most, 0x61))).toBe(true);
    expect(codecs.decompress(zstd, Buffer.concat([repeating(30), repeating(34)])).length).toBe(most);
    expect(codecs.decompress(zstd, repeating(1, 0)).length).toBe(0);
  });

  test.each([
    ["beyond it", repeating(65)],
    ["far beyond it", repeating(10_000)],
    ["beyond it by its second frame", Buffer.concat([repeating(64), repeating(1)])],
    [
      "beyond it by its last frame, which says its size",
      Buffer.concat([repeating(64), zstdOf(Buffer.alloc(200)), repeating(1)]),
    ],
  ])("%s", (_title, bytes) => {
    expect(() => codecs.decompress(zstd, bytes)).toThrow(/expected them to come to at most \d+ bytes, found more/);
    expect(codecs.decompress(zstd, zstdOf(text)).equals(text)).toBe(true);
  });
});

describe("a bomb is an error, and small ones still pass after it", () => {
  const zeros = Buffer.alloc(most + 1);
  const many = Buffer.alloc(2 * most);

  test.each(codecNames.map((name, codec) => [name, codec] as const).slice(1))("of %s", (name, codec) => {
    for (const bomb of [zeros, many]) {
      const bytes = compressors[codec]!(bomb);
      expect(() => codecs.decompress(codec, bytes)).toThrow(
        expect.objectContaining({
          constructor: Unreadable,
          message: expect.stringContaining(
            `bytes of records compressed with ${name}: expected them to come to at most ${most} bytes`,
          ) as string,
        }),
      );
    }
    expect(codecs.decompress(codec, compressors[codec]!(text)).equals(text)).toBe(true);
  });

  test.each<[string, number, Buffer, string]>([
    ["a snappy block that says 4 GB", snappy, Buffer.from([0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0]), "found 4294967295"],
    ["a zstd frame that says 2^60", zstd, zstdSaying(2n ** 60n), "found 1152921504606847000"],
    ["an LZ4 frame of large blocks", lz4, lz4Of(0x70, 40_000), "found up to 12582912"],
  ])("%s", (_title, codec, bytes, message) => {
    expect(() => codecs.decompress(codec, bytes)).toThrow(message);
  });

  test("at the bound that is used", { tags: ["rest"] }, async () => {
    const usual = await Codecs.load();
    const records = batchBytes({
      codec: gzip,
      compress: () => gzipSync(Buffer.alloc(129 * 1024 * 1024), { level: 1 }),
    });
    const { error } = read(fetched(records), 0, undefined, usual);
    expect(String(error)).toContain("topic orders, partition 3, offset 0: expected");
    expect(String(error)).toContain("to come to at most 67108864 bytes, found more");
  });
});

/** The text in a frame whose head says another size, in 8 bytes. */
function zstdSaying(size: bigint): Buffer {
  const frame = zstdOf(text);
  const head = Buffer.alloc(14);
  frame.copy(head, 0, 0, 4);
  head[4] = 0xe0;
  head.writeBigUInt64LE(size, 5);
  return Buffer.concat([head.subarray(0, 13), frame.subarray(4 + 1 + [1, 2, 4, 8][frame[4]! >> 6]!)]);
}

/** The head of a frame with blocks of a size, and three blocks that could come to all of it. */
function lz4Of(blockSize: number, stored: number): Buffer {
  const block = Buffer.alloc(4 + stored);
  block.writeUInt32LE(stored, 0);
  return Buffer.concat([
    Buffer.from([0x04, 0x22, 0x4d, 0x18, 0x60, blockSize, 0x73]),
    block,
    block,
    block,
    Buffer.alloc(4),
  ]);
}

describe("bytes that are not what the codec says", () => {
  const good = compressors.map((compress) => compress(text.subarray(0, 5000)));

  test.each(codecNames.map((name, codec) => [name, codec] as const).slice(1))("%s", (name, codec) => {
    const bytes = good[codec]!;
    const bad = [
      Buffer.alloc(0),
      Buffer.from("no such thing at all"),
      bytes.subarray(0, 3),
      bytes.subarray(0, -1),
      bytes.subarray(0, bytes.length / 2),
    ];
    for (const one of bad) {
      const decompress = (): Buffer => codecs.decompress(codec, one);
      expect(decompress).toThrow(Unreadable);
      expect(decompress).toThrow(`expected ${one.length} bytes of records compressed with ${name}: `);
    }
  });

  test.each<[string, number, Buffer]>([
    [
      "a snappy block beyond the bytes",
      snappy,
      Buffer.concat([javaSnappy(text).subarray(0, 16), Buffer.from([0, 0, 9, 9, 1])]),
    ],
    [
      "a snappy block of a negative length",
      snappy,
      Buffer.concat([javaSnappy(text).subarray(0, 16), Buffer.alloc(4, 0xff)]),
    ],
    ["a snappy length without end", snappy, Buffer.alloc(20, 0xff)],
    ["an LZ4 frame of another version", lz4, Buffer.from([0x04, 0x22, 0x4d, 0x18, 0x20, 0x70, 0x73, 0, 0, 0, 0])],
    ["an LZ4 frame without its checksum", lz4, compressFrameSync(text, { contentChecksum: true }).subarray(0, -4)],
    ["an LZ4 frame with a wrong checksum", lz4, flipped(compressFrameSync(text, { contentChecksum: true }), -1)],
    ["an LZ4 frame of blocks too small", lz4, Buffer.from([0x04, 0x22, 0x4d, 0x18, 0x60, 0x30, 0x73, 0, 0, 0, 0])],
    ["a zstd frame that says too little", zstd, zstdSaying(1000n)],
    ["a zstd block of no kind", zstd, Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38, 0x07, 0, 0])],
  ])("%s", (_title, codec, bytes) => {
    expect(() => codecs.decompress(codec, bytes)).toThrow(Unreadable);
  });
});

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[(at + copy.length) % copy.length]! ^= 0xff;
  return copy;
}
