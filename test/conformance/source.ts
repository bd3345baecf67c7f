import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Chunk, Feed, PositionRange } from "../../engine/core/positions.ts";
import type { Source } from "../../engine/core/source.ts";

/** How a suite reaches one kind of source. All its events are of one feed. */
export interface SourceUnderTest {
  readonly feed: Feed;
  /** The origin that its events have. */
  readonly origin: string | undefined;
  /** Makes the source of a new start of the pipeline, which knows what `commit` was told. */
  start(): Source;
  /** Adds events: they can be read from now on. */
  add(source: Source | undefined, ...texts: string[]): Promise<void>;
  /** Notes, as a journal does, that everything up to a position is final. */
  commit(last: number): void;
  /** Waits for a promise while the time of this source goes on. */
  settled<Value>(promise: Promise<Value>): Promise<Value>;
  clean(): Promise<void>;
}

/** In which ways a kind of source differs, and why. */
export interface SourceDifferences {
  /** Why a drain goes on with what was there before it: these events are held here alone. Absent: it is read again later. */
  keepsReading?: string;
  /** Why compaction is never the reason for missing events. Absent: it may be, as long as the log covers their range. */
  neverCompacts?: string;
}

interface Found {
  position: number;
  text: string;
  origin: string | undefined;
}

/** A source that is open, and what tests do with it all the time. */
class SourceScene {
  readonly under: SourceUnderTest;
  source: Source;
  readonly #drain = new AbortController();
  readonly #leave = new AbortController();

  constructor(under: SourceUnderTest) {
    this.under = under;
    this.source = under.start();
  }

  async begin(): Promise<void> {
    const signals = { drain: this.#drain.signal, leave: this.#leave.signal };
    expect(await this.under.settled(this.source.open(signals))).toEqual([]);
    expect(this.source.waitsForSettled).toBe(false);
    await this.under.settled(this.source.begin());
  }

  /** Another start of the pipeline. */
  async restart(): Promise<void> {
    await this.under.settled(this.source.close());
    this.source = this.under.start();
    await this.begin();
  }

  add(...texts: string[]): Promise<void> {
    return this.under.add(this.source, ...texts);
  }

  /** Reads until so many events have come, and at most `limit` of them. */
  async read(count: number, limit = 100, maxBytes = 1 << 20): Promise<Chunk[]> {
    const chunks: Chunk[] = [];
    for (let found = 0; found < count;) {
      await this.under.settled(this.source.wait(1, undefined, this.#drain.signal));
      const more = await this.under.settled(this.source.next(limit - found, maxBytes));
      chunks.push(...more);
      for (const { events } of more) found += events.length;
    }
    return chunks;
  }

  async again(range: PositionRange): Promise<Found[]> {
    const chunks: Chunk[] = [];
    const reading = async (): Promise<void> => {
      for await (const chunk of this.source.again([range])) chunks.push(chunk);
    };
    await this.under.settled(reading());
    return foundIn(chunks);
  }

  async clean(): Promise<void> {
    this.#drain.abort();
    await this.under.settled(this.source.close());
    this.#leave.abort();
    await this.under.clean();
  }
}

function foundIn(chunks: readonly Chunk[]): Found[] {
  return chunks.flatMap(({ events }) => events.map(({ position, text, origin }) => ({ position, text, origin })));
}

function textsOf(chunks: readonly Chunk[]): string[] {
  return foundIn(chunks).map(({ text }) => text);
}

/** The range of a record that holds these chunks: it ends where the last one does, which may be after its last event. */
function rangeOf(chunks: readonly Chunk[]): PositionRange {
  const found = foundIn(chunks);
  const [{ feed, last }, first] = [chunks.at(-1)!, found[0]!.position];
  return { feed, base: first, first, last, count: found.length };
}

const some = (count: number, name = "event"): string[] => Array.from({ length: count }, (_, at) => `{"${name}":${at}}`);

/** What every source does, whatever it reads. */
export function sourceSuite(
  name: string,
  make: () => Promise<SourceUnderTest>,
  { keepsReading, neverCompacts }: SourceDifferences = {},
): void {
  const onlyBefore = keepsReading === undefined ? "" : `, only what was there (${keepsReading})`;
  const drainTitle = `a drain brings nothing that comes later${onlyBefore}`;
  const rangesTitle =
    neverCompacts === undefined
      ? "may have compacted the ranges that its log covers, and no others"
      : `has compacted no range (${neverCompacts})`;

  describe(name, () => {
    let scene: SourceScene;

    beforeEach(async () => {
      scene = new SourceScene(await make());
    });

    afterEach(() => scene.clean());

    test("brings events in the order of their feed, each once, and says how far it has come", async () => {
      await scene.add(...some(5));
      await scene.begin();
      await scene.add(...some(5, "later"));
      const chunks = await scene.read(10);
      expect(textsOf(chunks)).toEqual([...some(5), ...some(5, "later")]);
      const { feed, origin } = scene.under;
      expect(new Set(chunks.map((chunk) => chunk.feed))).toEqual(new Set([feed]));
      const found = foundIn(chunks);
      expect(found.map((one) => one.origin)).toEqual(found.map(() => origin));
      const positions = found.map(({ position }) => position);
      expect(positions).toEqual([...new Set(positions)].toSorted((a, b) => a - b));
      for (const { events, last } of chunks) {
        expect(last).toBeGreaterThanOrEqual(events.at(-1)?.position ?? -Infinity);
      }
    });

    test("brings no more events at once than it is asked for", async () => {
      await scene.add(...some(7));
      await scene.begin();
      const chunks = await scene.read(2, 2);
      expect(textsOf(chunks)).toEqual(some(7).slice(0, 2));
      expect(textsOf(await scene.read(5))).toEqual(some(7).slice(2));
    });

    test("brings nothing where nothing is, and a wait ends when an event comes", async () => {
      await scene.begin();
      expect(textsOf(await scene.under.settled(scene.source.next(10, 1_000)))).toEqual([]);
      const came = scene.source.wait(1, undefined, new AbortController().signal);
      await scene.add("{}");
      await scene.under.settled(came);
      expect(textsOf(await scene.read(1))).toEqual(["{}"]);
    });

    test("a wait ends at its time, and when its signal aborts", async () => {
      await scene.begin();
      const never = new AbortController();
      await scene.under.settled(scene.source.wait(1, performance.now() + 20, never.signal));
      const waiting = scene.source.wait(1, undefined, never.signal);
      never.abort();
      await scene.under.settled(waiting);
    });

    test("reads a range again as it was read first", async () => {
      await scene.add(...some(20));
      await scene.begin();
      const [before, part, after] = [await scene.read(4, 4), await scene.read(5, 5), await scene.read(11)];
      const all = [...before, ...part, ...after];
      expect(textsOf(all)).toEqual(some(20));
      expect(await scene.again(rangeOf(all))).toEqual(foundIn(all));
      expect(await scene.again(rangeOf(part))).toEqual(foundIn(part));
    });

    test("goes on at the next start after what is final", async () => {
      await scene.add(...some(6));
      await scene.begin();
      const [final, rest] = [rangeOf(await scene.read(4, 4)), foundIn(await scene.read(2))];
      scene.source.acknowledge([final]);
      scene.under.commit(final.last);
      await scene.restart();
      expect(foundIn(await scene.read(2))).toEqual(rest);
    });

    test("reads at the next start what an earlier one has read and not committed", async () => {
      await scene.add(...some(6));
      await scene.begin();
      const [before, part, after] = [await scene.read(1, 1), await scene.read(4, 4), await scene.read(1)];
      await scene.restart();
      expect(await scene.again(rangeOf(part))).toEqual(foundIn(part));
      expect(foundIn(await scene.read(6))).toEqual(foundIn([...before, ...part, ...after]));
    });

    test("lets its events be written while the process runs on", async () => {
      await scene.begin();
      await scene.under.settled(scene.source.mayWrite());
    });

    test("acknowledges late, twice and what is unknown without harm", async () => {
      await scene.add(...some(3));
      await scene.begin();
      const range = rangeOf(await scene.read(3));
      scene.source.acknowledge([range, range]);
      scene.source.acknowledge([range]);
      scene.source.acknowledge([{ ...range, feed: "another/feed/0" }]);
      await scene.add("{}");
      expect(textsOf(await scene.read(1))).toEqual(["{}"]);
    });

    test(drainTitle, async () => {
      await scene.add(...some(4));
      await scene.begin();
      expect(textsOf(await scene.read(1, 1))).toEqual(some(1));
      expect(scene.source.keepsReading).toBe(keepsReading !== undefined);
      scene.source.drain();
      await scene.add("{}");
      const left = await scene.under.settled(scene.source.next(100, 1 << 20));
      expect(textsOf(left)).toEqual(keepsReading === undefined ? [] : some(4).slice(1));
      expect(textsOf(await scene.under.settled(scene.source.next(100, 1 << 20)))).toEqual([]);
    });

    test(rangesTitle, async () => {
      await scene.add(...some(3));
      await scene.begin();
      const range = rangeOf(await scene.read(3));
      const mayHave = (of: PositionRange): Promise<boolean> => scene.under.settled(scene.source.mayHaveCompacted([of]));
      expect(await mayHave(range)).toBe(neverCompacts === undefined);
      expect(await mayHave({ ...range, last: range.last + 100 })).toBe(false);
    });

    test("is closed twice, and before it is open, without an error", async () => {
      await scene.under.settled(scene.source.close());
      await scene.under.settled(scene.source.close());
      scene.source = scene.under.start();
      await scene.begin();
      await scene.under.settled(scene.source.close());
      await scene.under.settled(scene.source.close());
    });
  });
}
