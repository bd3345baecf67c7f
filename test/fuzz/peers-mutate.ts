import type { Random } from "../support/random.ts";

/** What a peer sends in place of a true answer. */
export interface Sent {
  /** Sent one after the other, a moment apart. */
  parts: readonly Buffer[];
  /** What becomes of the connection then. */
  end: "goes on" | "is closed" | "is reset";
}

type Mutation = (bytes: Buffer, random: Random) => Buffer;

const extremes = [0, -1, 1, 3, 4, 255, 32_767, -32_768, 65_536, 2 ** 28, 2 ** 31 - 1, -(2 ** 31)];

function place(bytes: Buffer, random: Random): number {
  // Lengths, versions and codes are in front: half of all changes are made there.
  return random.below(Math.max(1, random.below(2) === 0 ? Math.min(64, bytes.length) : bytes.length));
}

const mutations: readonly Mutation[] = [
  function flipBits(bytes, random) {
    const changed = Buffer.from(bytes);
    for (let count = random.pick(1, 1, 2, 8); count > 0 && changed.length > 0; count -= 1) {
      const at = place(changed, random);
      changed[at] = changed[at]! ^ (1 << random.below(8));
    }
    return changed;
  },
  function setNumber(bytes, random) {
    const changed = Buffer.from(bytes);
    const size = random.pick(1, 2, 4, 4, 8);
    if (changed.length < size) return changed;
    const [at, value] = [Math.min(place(changed, random), changed.length - size), random.pick(...extremes)];
    if (size === 8) changed.writeBigInt64BE(BigInt.asIntN(64, BigInt(value) * random.pick(1n, 2n ** 31n)), at);
    else changed.writeUIntBE(Number(BigInt.asUintN(8 * size, BigInt(value))), at, size);
    return changed;
  },
  function cut(bytes, random) {
    return bytes.subarray(0, random.below(2) === 0 ? place(bytes, random) : bytes.length - 1 - random.below(8));
  },
  function drop(bytes, random) {
    const at = place(bytes, random);
    return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + random.below(16))]);
  },
  function insert(bytes, random) {
    const at = place(bytes, random);
    return Buffer.concat([bytes.subarray(0, at), garbage(random, 1 + random.below(16)), bytes.subarray(at)]);
  },
  function repeat(bytes, random) {
    const at = place(bytes, random);
    const part = bytes.subarray(at, at + 1 + random.below(200));
    return Buffer.concat([
      bytes.subarray(0, at),
      ...Array<Buffer>(random.pick(2, 2, 3, 50)).fill(part),
      bytes.subarray(at),
    ]);
  },
  function swap(bytes, random) {
    const [one, other] = [place(bytes, random), place(bytes, random)].toSorted((a, b) => a - b) as [number, number];
    const size = Math.min(other - one, 1 + random.below(16));
    const parts = [
      bytes.subarray(other, other + size),
      bytes.subarray(one + size, other),
      bytes.subarray(one, one + size),
    ];
    return Buffer.concat([bytes.subarray(0, one), ...parts, bytes.subarray(other + size)]);
  },
  function twice(bytes) {
    return Buffer.concat([bytes, bytes]);
  },
  function zeros(_bytes, random) {
    return Buffer.alloc(random.pick(1, 4, 4, 8, 64));
  },
  function other(_bytes, random) {
    return garbage(random, random.pick(1, 4, 32, 2_000));
  },
];

export function garbage(random: Random, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => random.below(256)));
}

/** The bytes with one to three changes. */
export function mutatedBytes(bytes: Buffer, random: Random): Buffer {
  let changed = bytes;
  for (let count = random.pick(1, 1, 1, 2, 3); count > 0; count -= 1)
    changed = random.pick(...mutations)(changed, random);
  return changed;
}

/** How bytes are sent: mostly at once, or in pieces, or cut off by the end of the connection. */
export function sentAs(bytes: Buffer, random: Random): Sent {
  switch (random.below(10)) {
    case 0:
      return { parts: pieces(bytes, random), end: "goes on" };
    case 1:
      return { parts: [bytes], end: "is closed" };
    case 2:
      return { parts: [bytes.subarray(0, random.below(bytes.length + 1))], end: random.pick("is closed", "is reset") };
    case 3:
      return { parts: [], end: random.pick("goes on", "is closed", "is reset") };
    default:
      return { parts: [bytes], end: "goes on" };
  }
}

/** At most twelve pieces. */
function pieces(bytes: Buffer, random: Random): Buffer[] {
  const parts: Buffer[] = [];
  let at = 0;
  for (let count = 1 + random.below(11); count > 0 && at < bytes.length; count -= 1) {
    const end = Math.min(bytes.length, at + 1 + random.below(random.pick(3, 3, bytes.length)));
    parts.push(bytes.subarray(at, end));
    at = end;
  }
  return [...parts, bytes.subarray(at)];
}
