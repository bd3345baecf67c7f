import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Fingerprints } from "../../../engine/keys/fingerprint.ts";

function fingerprint(secret: Buffer, text: string): Uint32Array {
  const words = new Uint32Array(4);
  new Fingerprints(secret).of(text, words, 0);
  return words;
}

/** The text whose UTF-16 units are the bytes 0, 1, 2 and so on. */
function counting(bytes: number): string {
  return Buffer.from(Array.from({ length: bytes }, (_, byte) => byte)).toString("utf16le");
}

/** The first eight bytes, as the vectors of the reference implementation of Chaskey-12 give them. */
describe("the fingerprint is the tag of Chaskey-12", () => {
  const secret = Buffer.from("00112233445566778899aabbccddeeff", "hex");
  test.each([
    [0, "dd3e1849d6824555"],
    [2, "98fe20a343cd666f"],
    [4, "4cf04960099949f3"],
    [6, "964b0461fbe92273"],
    [8, "412d98ed936d4ab2"],
    [10, "36f88e1fda86c8ab"],
    [12, "7a7912c1999eae81"],
    [14, "7905142f3be77e67"],
    [16, "d13970d7be9b2350"],
  ])("of %d bytes", (bytes, tag) => {
    expect(Buffer.from(fingerprint(secret, counting(bytes)).buffer).toString("hex", 0, 8)).toBe(tag);
  });

  const another = Buffer.from("33343d839f389f004fe6982339cf7a41", "hex");
  test.each([
    [0, [0x43cb1f41, 0x51eba0c2, 0xff0a8ac3, 0x7ee3f642]],
    [2, [0x57da70c5, 0x2a873cb0, 0x19ee8b2a, 0x165cd82e]],
    [16, [0x5dd0e2a9, 0xfb5eac8c, 0x633a392e, 0x500c36f3]],
    [18, [0x0430889e, 0xb994dc9c, 0xa39d8d46, 0xf0b15fda]],
    [32, [0x77962784, 0x07c647fa, 0xdd752c0f, 0xd2f5a799]],
    [34, [0x4cddf615, 0xef51f2f3, 0xb254b4ae, 0xfdab76d9]],
    [48, [0xf36e748b, 0x8f34677f, 0x1e00ba1b, 0xdd7da46d]],
    [62, [0x0f40ed0f, 0xa69bc80f, 0x8e06f97c, 0x61e89697]],
  ])("of %d bytes, whole", (bytes, words) => {
    expect([...fingerprint(another, counting(bytes))]).toEqual(words);
  });
});

const ones = 0xffffffffn;
const rotated = (word: bigint, by: bigint): bigint => ((word << by) | (word >> (32n - by))) & ones;

const number = (bytes: Buffer): bigint => bytes.readBigUInt64LE(0) | (bytes.readBigUInt64LE(8) << 64n);
const double = (x: bigint): bigint => ((x << 1n) & (2n ** 128n - 1n)) ^ (x >> 127n === 0n ? 0n : 0x87n);

/** Chaskey-12 as its authors write it down: over one number of 128 bits, block by block. */
function chaskey(secret: Buffer, message: Buffer): bigint {
  let state = number(secret);
  let from = 0;
  for (; message.length - from > 16; from += 16) state = permuted(state ^ number(message.subarray(from, from + 16)));
  const rest = message.subarray(from);
  const mask = rest.length === 16 ? double(number(secret)) : double(double(number(secret)));
  const last = Buffer.alloc(16);
  Buffer.concat([rest, Buffer.of(1)]).copy(last, 0, 0, 16);
  return permuted(state ^ number(last) ^ mask) ^ mask;
}

function permuted(state: bigint): bigint {
  let v = [0n, 32n, 64n, 96n].map((by) => (state >> by) & ones) as [bigint, bigint, bigint, bigint];
  for (let round = 0; round < 12; round += 1) {
    const [v0, v2] = [(v[0] + v[1]) & ones, (v[2] + v[3]) & ones];
    const [v1, v3] = [rotated(v[1], 5n) ^ v0, rotated(v[3], 8n) ^ v2];
    const [w0, w2] = [(rotated(v0, 16n) + v3) & ones, (v2 + v1) & ones];
    v = [w0, rotated(v1, 7n) ^ w2, rotated(w2, 16n), rotated(v3, 13n) ^ w0];
  }
  return v[0] | (v[1] << 32n) | (v[2] << 64n) | (v[3] << 96n);
}

/** Texts of any UTF-16 units, lone surrogates too. */
const text = fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 40 }).map((u) => String.fromCharCode(...u));
const secrets = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => Buffer.from(bytes));

test("the fingerprint of any text is that of a plain Chaskey-12 over its UTF-16 units", () => {
  fc.assert(
    fc.property(secrets, text, (secret, given) => {
      const [a, b, c, d] = [...fingerprint(secret, given)].map(BigInt) as [bigint, bigint, bigint, bigint];
      expect(a | (b << 32n) | (c << 64n) | (d << 96n)).toBe(chaskey(secret, Buffer.from(given, "utf16le")));
    }),
  );
});

describe("texts are told apart", () => {
  const secret = Buffer.alloc(16, 7);
  test.each([
    ["a lone surrogate and the replacement character", "\ud800", "\ufffd"],
    ["two lone surrogates", "\ud800", "\udc00"],
    ["a surrogate pair and its halves the other way round", "\ud83d\ude00", "\ude00\ud83d"],
    ["no text and a zero", "", "\u0000"],
    ["a text and the same with a zero behind it", "a", "a\u0000"],
    ["a text and the same with the padding behind it", "a", "a\u0001"],
    ["a full block and the same with the padding behind it", "abcdefgh", "abcdefgh\u0001"],
    ["a full block and one that padding makes the same", "abcdefg\u0001", "abcdefg"],
    ["two units and one of their bytes", "\u0061\u0062", "\u6261"],
    ["é in one and in two characters", "\u00e9", "e\u0301"],
    ["capital and small letters", "A", "a"],
  ])("%s", (_title, one, other) => {
    expect(fingerprint(secret, one)).not.toEqual(fingerprint(secret, other));
  });

  test("whether their characters are kept in one byte or in two", () => {
    const wide = `\u0416${"a".repeat(40)}`.slice(1);
    expect(fingerprint(secret, wide)).toEqual(fingerprint(secret, "a".repeat(40)));
  });

  test("by another secret they have another fingerprint", () => {
    const other = Buffer.from(secret);
    other[15] = 6;
    expect(fingerprint(secret, "a")).not.toEqual(fingerprint(other, "a"));
  });
});

describe("the words", () => {
  test("go to their place, and nothing beside it is touched", () => {
    const secret = Buffer.alloc(16, 7);
    const into = new Uint32Array(7).fill(5);
    new Fingerprints(secret).of("a", into, 2);
    expect([...into]).toEqual([5, 5, ...fingerprint(secret, "a"), 5]);
  });

  test("do not depend on the texts before", () => {
    const fingerprints = new Fingerprints(Buffer.alloc(16, 7));
    const into = new Uint32Array(12);
    for (const [place, given] of ["a", "a text of more than one block", "a"].entries()) {
      fingerprints.of(given, into, 4 * place);
    }
    expect(into.subarray(8)).toEqual(into.subarray(0, 4));
  });

  test("do not change with the buffer that the secret came in", () => {
    const secret = Buffer.alloc(16, 7);
    const fingerprints = new Fingerprints(secret);
    secret.fill(0);
    const into = new Uint32Array(4);
    fingerprints.of("a", into, 0);
    expect(into).toEqual(fingerprint(Buffer.alloc(16, 7), "a"));
  });
});

test.each([0, 15, 17, 32])("a secret of %d bytes is refused", (length) => {
  expect(() => new Fingerprints(Buffer.alloc(length))).toThrow(
    `secret of fingerprints: expected 16 bytes, found ${length}`,
  );
});

test("letters that lie in bytes have the fingerprint of their text", () => {
  const prints = new Fingerprints(Buffer.alloc(16, 5));
  const ascii = fc.string({ unit: "binary-ascii", maxLength: 40 });
  fc.assert(
    fc.property(ascii, ascii, ascii, (before, letters, behind) => {
      const [found, expected] = [new Uint32Array(5), new Uint32Array(5)];
      prints.of(letters, expected, 1);
      prints.ofLetters(Buffer.from(before + letters + behind), before.length, before.length + letters.length, found, 1);
      expect(found).toEqual(expected);
    }),
  );
});
