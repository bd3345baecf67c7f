import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { KeyTable } from "../../../engine/transforms/dedup/key-table.ts";
import { runsOf } from "../../support/cases.ts";

const always = (): boolean => true;

/** Words of two shards, whose places lie at the ends of shards of every size: their keys meet, in chains over the end. */
const words = fc
  .tuple(
    fc.constantFrom(0x00000000, 0x00000001, 0xff000000),
    fc.constantFrom(0, 1, 2, 13, 14, 15, 31, 63, 0x80000000, 0x8000000f, 0xfffffffe, 0xffffffff),
    fc.constantFrom(0, 0xffffffff),
    fc.nat(3),
  )
  .map((four) => Uint32Array.from(four));

const owner = fc.constantFrom(1, 2, 3, 0x7fffffff, 0x80000000, 0xffffffff);

type Step =
  | { do: "set"; words: Uint32Array; owner: number }
  | { do: "delete"; words: Uint32Array }
  | { do: "end"; owner: number }
  | { do: "sweep"; count: number }
  | { do: "reserve"; keys: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 40, arbitrary: fc.record({ do: fc.constant("set" as const), words, owner }) },
  { weight: 15, arbitrary: fc.record({ do: fc.constant("delete" as const), words }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("end" as const), owner }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("sweep" as const), count: fc.constantFrom(1, 255, 256) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("reserve" as const), keys: fc.constantFrom(0, 3_072, 3_073, 20_000) }),
  },
);

/** A table and the map that it must equal, as far as owners live. */
class Pair {
  readonly #gone = new Set<number>();
  readonly #table = new KeyTable((one) => !this.#gone.has(one));
  readonly #model = new Map<string, { words: Uint32Array; owner: number }>();

  take(one: Step): void {
    if (one.do === "sweep") this.#table.sweep(one.count);
    else if (one.do === "reserve") this.#table.reserve(one.keys);
    else if (one.do === "end") this.#gone.add(one.owner);
    else if (one.do === "delete") this.#delete(one.words);
    else this.#set(one.words, one.owner);
  }

  #set(key: Uint32Array, by: number): void {
    if (this.#gone.has(by)) return;
    this.#table.set(key, 0, by);
    this.#model.set(key.join(), { words: key, owner: by });
  }

  #delete(key: Uint32Array): void {
    const found = this.#model.get(key.join());
    const deleted = this.#table.delete(key, 0);
    const isKnown = found === undefined || !this.#gone.has(found.owner);
    if (isKnown && deleted !== (found !== undefined)) expect.unreachable(`${key.join()} was deleted: ${deleted}`);
    this.#model.delete(key.join());
  }

  compare(): void {
    const wrong = [...this.#model.values()].filter(({ words: key, owner: by }) => {
      const found = this.#table.get(key, 0);
      return found !== by && !(found === 0 && this.#gone.has(by));
    });
    expect(wrong).toEqual([]);
  }

  compareSwept(): void {
    this.#table.sweep();
    const live = [...this.#model.values()].filter((one) => !this.#gone.has(one.owner));
    expect(this.#table.size).toBe(live.length);
    const wrong = [...this.#model.values()].filter(
      ({ words: key, owner: by }) => this.#table.get(key, 0) !== (this.#gone.has(by) ? 0 : by),
    );
    expect(wrong).toEqual([]);
  }
}

test("it is a map from words to owners, whatever was put in, taken out, dropped and swept", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400, size: "max" }), (steps) => {
      const pair = new Pair();
      for (const one of steps) pair.take(one);
      pair.compare();
      pair.compareSwept();
    }),
    { numRuns: runsOf(150) },
  );
});

test("it is that map after each step, in chains over the end of the smallest shard", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40, size: "max" }), (steps) => {
      const pair = new Pair();
      for (const one of steps) {
        pair.take(one);
        pair.compare();
      }
      pair.compareSwept();
    }),
    { numRuns: runsOf(150) },
  );
});

describe("a key", () => {
  test.each<[string, readonly number[]]>([
    ["in the first word", [2, 1, 1, 1]],
    ["in the shard of the first word", [0x01000001, 1, 1, 1]],
    ["in the second word, where the place is the same", [1, 0x80000001, 1, 1]],
    ["in the third word", [1, 1, 2, 1]],
    ["in the fourth word", [1, 1, 1, 2]],
  ])("differs from one that differs %s", (_title, other) => {
    const table = new KeyTable(always);
    table.set(Uint32Array.of(1, 1, 1, 1), 0, 7);
    expect(table.get(Uint32Array.from(other), 0)).toBe(0);
    table.set(Uint32Array.from(other), 0, 8);
    expect(table.get(Uint32Array.of(1, 1, 1, 1), 0)).toBe(7);
    expect(table.size).toBe(2);
  });

  test("of four zeros is one like any other", () => {
    const table = new KeyTable(always);
    expect(table.get(new Uint32Array(4), 0)).toBe(0);
    table.set(new Uint32Array(4), 0, 1);
    expect(table.get(new Uint32Array(4), 0)).toBe(1);
    expect(table.delete(new Uint32Array(4), 0)).toBe(true);
    expect(table.delete(new Uint32Array(4), 0)).toBe(false);
    expect(table.size).toBe(0);
  });

  test("is read from any place of an array", () => {
    const table = new KeyTable(always);
    table.set(Uint32Array.of(9, 9, 1, 2, 3, 4), 2, 5);
    expect(table.get(Uint32Array.of(1, 2, 3, 4), 0)).toBe(5);
    expect(table.get(Uint32Array.of(9, 1, 2, 3, 4), 1)).toBe(5);
  });

  test("that is set again belongs to the later owner", () => {
    const table = new KeyTable(always);
    table.set(Uint32Array.of(1, 2, 3, 4), 0, 5);
    table.set(Uint32Array.of(1, 2, 3, 4), 0, 0xffffffff);
    expect(table.get(Uint32Array.of(1, 2, 3, 4), 0)).toBe(0xffffffff);
    expect(table.size).toBe(1);
  });
});

/** The words of the nth key: each of the numbers once, scrambled. */
function random(key: Uint32Array, n: number): void {
  for (let word = 0; word < 4; word += 1) {
    let mixed = Math.imul(n + 0x9e3779b9 * (word + 1), 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0xc2b2ae35);
    key[word] = mixed ^ (mixed >>> 13);
  }
}

describe("memory", () => {
  test("300,000 keys take less than 60 bytes each, and a sweep gives back what the gone ones took", () => {
    const firstLive = { owner: 1 };
    const table = new KeyTable((one) => one >= firstLive.owner);
    const empty = table.bytes;
    const key = new Uint32Array(4);
    for (let n = 0; n < 300_000; n += 1) {
      random(key, n);
      table.set(key, 0, 1 + Math.floor(n / 1000));
    }
    expect(table.size).toBe(300_000);
    expect(table.bytes).toBeLessThan(60 * table.size);

    firstLive.owner = 271;
    for (let shard = 0; shard < 256; shard += 1) table.sweep(1);
    expect(table.size).toBe(30_000);
    expect(table.bytes).toBeLessThan(67 * table.size);
    random(key, 269_999);
    expect(table.get(key, 0)).toBe(0);
    random(key, 270_000);
    expect(table.get(key, 0)).toBe(271);

    firstLive.owner = 301;
    table.sweep();
    expect(table.size).toBe(0);
    expect(table.bytes).toBe(empty);
  });

  test("that is reserved for keys is no more than they would take, and they come without a look at the others", () => {
    let asked = 0;
    const reserved = new KeyTable(() => (asked += 1) > 0);
    const grown = new KeyTable(always);
    const keys = 125_000;
    reserved.reserve(keys);
    const { bytes } = reserved;
    const key = new Uint32Array(4);
    for (let n = 0; n < keys; n += 1) {
      random(key, n);
      for (const table of [reserved, grown]) table.set(key, 0, 1);
    }
    expect([reserved.bytes, asked]).toEqual([bytes, 0]);
    expect(bytes).toBe(grown.bytes);
    reserved.reserve(0);
    expect(reserved.bytes).toBe(bytes);
  });

  test.each<[string, number]>([
    ["all live", Number.POSITIVE_INFINITY],
    ["the last 51,000 live", 51],
    ["the last 40,000 live", 40],
  ])("is looked through seldom, and grows with the keys that live: %s", (_title, living) => {
    let [newest, asked] = [0, 0];
    const table = new KeyTable((one) => {
      asked += 1;
      return one > newest - living;
    });
    const key = new Uint32Array(4);
    const keys = 200_000;
    for (let n = 0; n < keys; n += 1) {
      newest = 1 + Math.floor(n / 1000);
      random(key, n);
      table.set(key, 0, newest);
    }
    expect(asked).toBeLessThan(6 * keys);
    expect(table.bytes).toBeLessThan(67 * Math.min(keys, 1000 * living));
  });
});
