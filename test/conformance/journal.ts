import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { DeadLetterQueue, Rejection } from "../../engine/core/dead-letter.ts";
import { rangesOf, type BatchRecord, type FinalKeys, type Journal, type KeyBlock } from "../../engine/core/journal.ts";
import { streamFeed, type PositionRange } from "../../engine/core/positions.ts";

export interface JournalUnderTest {
  journal: Journal;
  letters(pipeline_id: string): DeadLetterQueue;
  /** What it takes on the disk. */
  bytes(): Promise<number>;
  close(): Promise<void>;
}

export function record(batch: number, over: Partial<BatchRecord> = {}): BatchRecord {
  const first = batch * 10;
  return {
    batch,
    pipeline_id: "orders",
    madeOf: fromSource({ feed: streamFeed, base: 0, first, last: first + 9, count: 10 }),
    revision: 1,
    token: `token-${batch}`,
    clock: 0,
    oldest: 0,
    rows: 10,
    rejections: [],
    excluded: [],
    keys: [],
    waiting: [],
    state: { kind: "prepared" },
    ...over,
  };
}

function fromSource(...ranges: PositionRange[]): BatchRecord["madeOf"] {
  return { kind: "source", ranges };
}

export function rejection(position: number): Rejection {
  return { component: "sink", reason: "schema_mismatch", error: "field a", original_message: "{}", position };
}

/** A range of one event. */
function rangeOf(feed: string, first: number, last: number): PositionRange {
  return { feed, base: first, first, last, count: 1 };
}

/** A record of letters, by the numbers of their ids: it has no position of the source. */
export function recordOf(letters: number[], batch: number, over: Partial<BatchRecord> = {}): BatchRecord {
  return record(batch, { madeOf: { kind: "letters", numbers: letters }, rows: letters.length, ...over });
}

/** Keys of the positions, each with a fingerprint of its own; they count from `since` on for so many ms. */
export function keysAt(positions: number[], since = 0, window = 100): KeyBlock[] {
  const words = Uint32Array.from(positions.flatMap((position) => [position, 7, 7, 7]));
  const prints = new Uint8Array(words.buffer);
  return [{ since, until: since + window, positions, prints }];
}

/** With fingerprints as text: a journal may give back any kind of bytes. */
function plainKeys<T extends { prints: Uint8Array }>(keys: T): Omit<T, "prints"> & { prints: string } {
  return { ...keys, prints: Buffer.from(keys.prints).toString("hex") };
}

function plain({ keys, ...rest }: BatchRecord): unknown {
  return { ...rest, keys: keys.map(plainKeys) };
}

async function allFinalKeys(journal: Journal, pipeline_id = "orders"): Promise<FinalKeys[]> {
  const all: FinalKeys[] = [];
  for (;;) {
    const page = await journal.finalKeys(pipeline_id, all.at(-1)?.batch ?? 0);
    if (page.length === 0) {
      expect(journal.finalKeyCount(pipeline_id)).toBe(all.reduce((sum, { prints }) => sum + prints.length / 16, 0));
      return all;
    }
    all.push(...page);
  }
}

/** What every journal does. `open` opens the same journal each time it is called. */
export function journalSuite(
  name: string,
  make: () => Promise<{ open(): JournalUnderTest; clean(): Promise<void> }>,
): void {
  describe(name, () => {
    let made: Awaited<ReturnType<typeof make>>;
    let opened: JournalUnderTest;

    beforeEach(async () => {
      made = await make();
      opened = made.open();
    });

    afterEach(async () => {
      await opened.close();
      await made.clean();
    });

    const reopen = async (): Promise<void> => {
      await opened.close();
      opened = made.open();
    };

    test("a prepared batch is pending, also after the journal is opened again, word for word", async () => {
      const prepared = record(1, { rejections: [rejection(12)], excluded: [13], state: { kind: "refused" } });
      await opened.journal.prepare(prepared);
      await reopen();
      expect(opened.journal.pending("orders")).toEqual([prepared]);
      expect(opened.journal.progress("orders").positions).toEqual({});
    });

    test("pending batches come in the order of their numbers, each pipeline its own", async () => {
      await Promise.all(
        [record(2), record(10), record(1), record(3, { pipeline_id: "other" })].map((r) => opened.journal.prepare(r)),
      );
      expect(opened.journal.pending("orders").map(({ batch }) => batch)).toEqual([1, 2, 10]);
    });

    test("preparing the same batch again replaces it", async () => {
      await opened.journal.prepare(record(1));
      await opened.journal.prepare(record(1, { token: "other" }));
      expect(opened.journal.pending("orders")).toMatchObject([{ token: "other" }]);
    });

    test("a commit makes positions final and letters visible, and takes the record out, at once", async () => {
      await opened.journal.prepare(record(1, { rejections: [rejection(12), rejection(14)] }));
      expect(opened.letters("orders").state().total_messages).toBe(0);
      await opened.journal.commit(record(1, { rejections: [rejection(12), rejection(14)] }));
      await reopen();
      expect(opened.journal.pending("orders")).toEqual([]);
      expect(opened.journal.progress("orders").positions).toEqual({ [streamFeed]: 19 });
      const { messages } = opened.letters("orders").list(10);
      expect(messages.map(({ message_id, position }) => [message_id, position])).toEqual([
        ["1", 12],
        ["2", 14],
      ]);
    });

    test("a commit that is said twice changes nothing", async () => {
      const letters = record(1, { rejections: [rejection(12)] });
      await opened.journal.prepare(letters);
      await opened.journal.commit(letters);
      await opened.journal.commit(letters);
      expect(opened.letters("orders").state().total_messages).toBe(1);
    });

    describe("amend", () => {
      test("notes what was heard of a pending batch, durably, and leaves its keys as they are", async () => {
        const prepared = record(1, { waiting: [{ position: 13, print: [1, 2, 3, 4] }] });
        await opened.journal.prepare({ ...prepared, keys: keysAt([10, 11, 12]) });
        const heard: BatchRecord = {
          ...prepared,
          state: { kind: "refused" },
          excluded: [11],
          rejections: [rejection(11)],
          rows: 9,
        };
        await opened.journal.amend({ ...heard, keys: keysAt([99]) });
        await reopen();
        expect(opened.journal.pending("orders").map(plain)).toEqual([
          { ...heard, keys: keysAt([10, 11, 12]).map(plainKeys) },
        ]);
      });

      test("does nothing for a batch that was never prepared, that is committed, or that is another one by now", async () => {
        await opened.journal.amend(record(1));
        expect(opened.journal.pending("orders")).toEqual([]);
        await opened.journal.prepare(record(1));
        await opened.journal.amend(record(1, { token: "stale", state: { kind: "written" } }));
        expect(opened.journal.pending("orders")).toEqual([record(1)]);
        await opened.journal.commit(record(1));
        await opened.journal.amend(record(1, { state: { kind: "refused" } }));
        await reopen();
        expect(opened.journal.pending("orders")).toEqual([]);
      });
    });

    describe("keys", () => {
      test("become final with the commit, but for those of positions that died", async () => {
        const keys = keysAt([10, 11, 12, 13]);
        await opened.journal.prepare(record(1, { keys }));
        expect(await allFinalKeys(opened.journal)).toEqual([]);
        await opened.journal.commit(record(1, { excluded: [11], rejections: [rejection(11), rejection(13)] }));
        await reopen();
        const { positions: _gone, ...rest } = plainKeys(keysAt([10, 12])[0]!);
        expect((await allFinalKeys(opened.journal)).map(plainKeys)).toEqual([{ batch: 1, ...rest }]);
      });

      test("of a batch whose events all died are free", async () => {
        await opened.journal.prepare(record(1, { keys: keysAt([10, 11]) }));
        await opened.journal.commit(record(1, { excluded: [10], rejections: [rejection(11)] }));
        expect(await allFinalKeys(opened.journal)).toEqual([]);
      });

      test("of a batch that is prepared again are those of its newest record", async () => {
        await opened.journal.prepare(record(1, { keys: keysAt([10, 11]) }));
        await opened.journal.prepare(record(1, { keys: keysAt([12]), token: "again" }));
        expect(opened.journal.pending("orders").map(({ keys }) => keys.map(plainKeys))).toEqual([
          keysAt([12]).map(plainKeys),
        ]);
        await opened.journal.prepare(record(1, { token: "and again" }));
        await opened.journal.commit(record(1, { token: "and again" }));
        expect(await allFinalKeys(opened.journal)).toEqual([]);
      });

      test("that are final come in the order of their batches, in pages, without those of pending ones", async () => {
        const large = new Uint8Array(3 << 20).fill(1);
        for (const batch of [1, 2, 10, 11]) {
          const block = { since: batch, until: 1000, positions: [batch * 10], prints: large };
          await opened.journal.prepare(record(batch, { keys: [block] }));
          if (batch !== 2) await opened.journal.commit(batch === 1 ? record(batch) : recordOf([], batch));
        }
        const page = await opened.journal.finalKeys("orders", 0);
        expect(page.length).toBeLessThan(3);
        const all = await allFinalKeys(opened.journal);
        expect(all.map(({ batch, since, prints }) => [batch, since, prints.length])).toEqual(
          [1, 10, 11].map((batch) => [batch, batch, large.length]),
        );
        expect(await opened.journal.finalKeys("orders", 11)).toEqual([]);
        expect(await opened.journal.finalKeys("other", 0)).toEqual([]);
      });

      test("of several windows are prepared, final and read together, and each go when they have expired", async () => {
        const keys = [...keysAt([10, 11], 0, 1_000), ...keysAt([12, 13], 0, 100)];
        await opened.journal.prepare(record(1, { keys: [...keys, ...keysAt([14], 0, 200)] }));
        await opened.journal.prepare(record(1, { keys }));
        await reopen();
        expect(opened.journal.pending("orders").map(({ keys: own }) => own.map(plainKeys))).toEqual([
          keys.map(plainKeys),
        ]);
        await opened.journal.commit(record(1, { excluded: [11], rejections: [rejection(12)] }));
        const final = async () => (await allFinalKeys(opened.journal)).map(({ until, prints }) => [until, prints[0]]);
        expect(await final()).toEqual([
          [1_000, 10],
          [100, 13],
        ]);
        const later = { clock: 500, keys: [...keysAt([20], 500, 1_000), ...keysAt([21], 500, 100)] };
        await opened.journal.prepare(recordOf([], 2, later));
        await opened.journal.commit(recordOf([], 2, later));
        expect(await final()).toEqual([
          [1_000, 10],
          [1_500, 20],
          [600, 21],
        ]);
      });

      test("that have expired go at a commit, but none that counts at the clock of a batch under way", async () => {
        const commit = async (batch: number, clock: number): Promise<void> => {
          await opened.journal.prepare(recordOf([], batch, { clock, keys: keysAt([batch * 10], clock) }));
          await opened.journal.commit(recordOf([], batch, { clock }));
        };
        const batches = async (): Promise<number[]> => (await allFinalKeys(opened.journal)).map(({ batch }) => batch);
        await commit(1, 0);
        await commit(2, 60);
        const underway = record(3, { clock: 70, keys: keysAt([30], 70) });
        await opened.journal.prepare(underway);
        await commit(4, 99);
        expect(await batches()).toEqual([1, 2, 4]);
        await reopen();
        await commit(5, 1_000);
        expect(await batches()).toEqual([1, 2, 4, 5]);
        expect(opened.journal.pending("orders").map(plain)).toEqual([plain(underway)]);
        await opened.journal.commit(underway);
        await commit(6, 1_000);
        expect(await batches()).toEqual([5, 6]);
      });
    });

    describe("a batch of released duplicates", () => {
      test("is prepared in the write that commits its batch: at no moment are its events in neither", async () => {
        await opened.journal.prepare(record(1));
        const released = record(2, {
          madeOf: { kind: "released", ranges: [...rangesOf(record(1))] },
          only: [12],
          keys: keysAt([12]),
          rows: 1,
        });
        const committed = opened.journal.commit(record(1), released);
        const pending = (): string => String(opened.journal.pending("orders").map(({ batch }) => batch));
        while (pending() === "1") await new Promise((resolve) => setImmediate(resolve));
        expect(pending()).toBe("2");
        await committed;
        await reopen();
        expect(opened.journal.pending("orders").map(plain)).toEqual([plain(released)]);
        expect(opened.journal.progress("orders")).toMatchObject({ positions: { [streamFeed]: 19 }, batch: 2 });
      });

      test("keeps the letters that go on in it; the others of its batch go, and new ones come", async () => {
        const queue = opened.letters("orders");
        const ids = (): string[] => queue.list(10).messages.map(({ message_id }) => message_id);
        await opened.journal.commit(record(1, { rejections: [10, 11, 12].map(rejection) }));
        const sentAgain = recordOf([1, 2, 3], 2);
        await opened.journal.prepare(sentAgain);
        expect(await queue.consume(10)).toEqual([]);
        const released = recordOf([2], 3);
        await opened.journal.commit({ ...sentAgain, rejections: [rejection(3)] }, released);
        expect(ids()).toEqual(["2", "4"]);
        expect(await queue.consume(10)).toMatchObject([{ message_id: "4" }]);
        await opened.journal.commit(released);
        await opened.journal.commit({ ...sentAgain, rejections: [rejection(3)] }, released);
        expect([ids(), opened.journal.pending("orders")]).toEqual([[], []]);
      });
    });

    describe("positions that no batch made final", () => {
      test("are where feeds stand from then on, also lower ones, each feed its own", async () => {
        await opened.journal.place("orders", { a: 9, b: -1 });
        await opened.journal.commit(record(1, { madeOf: fromSource(rangeOf("a", 10, 19), rangeOf("c", 0, 4)) }));
        expect(opened.journal.progress("orders").positions).toEqual({ a: 19, b: -1, c: 4 });
        await opened.journal.place("orders", { a: 3 });
        await reopen();
        expect(opened.journal.progress("orders").positions).toEqual({ a: 3, b: -1, c: 4 });
        await opened.journal.commit(record(2, { madeOf: fromSource(rangeOf("a", 4, 6)) }));
        expect(opened.journal.progress("orders").positions).toMatchObject({ a: 6 });
      });

      test("a move holds at once where nothing is pending", async () => {
        await opened.journal.place("orders", { a: 9 });
        await opened.journal.place("orders", { a: 2 }, { isMove: true });
        expect(opened.journal.progress("orders")).toMatchObject({ positions: { a: 2 } });
        expect(opened.journal.progress("orders").moved).toBeUndefined();
      });

      test.each(["commits", "is given up"])(
        "a move holds once the last pending batch %s, over an end",
        async (ends) => {
          await opened.journal.place("orders", { a: 9 });
          for (const batch of [1, 2])
            await opened.journal.prepare(
              record(batch, { madeOf: fromSource(rangeOf("a", 10 * batch, 10 * batch + 5)) }),
            );
          await opened.journal.place("orders", { a: 2 }, { isMove: true });
          await opened.journal.commit(record(1, { madeOf: fromSource(rangeOf("a", 10, 15)) }));
          await reopen();
          expect(opened.journal.progress("orders")).toMatchObject({ positions: { a: 15 }, moved: { a: 2 } });
          const last = record(2, { madeOf: fromSource(rangeOf("a", 20, 25)) });
          await (ends === "commits" ? opened.journal.commit(last) : opened.journal.giveUp(last));
          await reopen();
          expect(opened.journal.progress("orders")).toMatchObject({ positions: { a: 2 } });
          expect(opened.journal.progress("orders").moved).toBeUndefined();
        },
      );

      test("a batch that is given up is pending no more, its keys are free and its positions not final", async () => {
        await opened.journal.prepare(record(1, { madeOf: fromSource(rangeOf("a", 10, 19)), keys: keysAt([10]) }));
        await opened.journal.giveUp(record(1, { madeOf: fromSource(rangeOf("a", 10, 19)) }));
        await reopen();
        expect(opened.journal.pending("orders")).toEqual([]);
        expect(await allFinalKeys(opened.journal)).toEqual([]);
        expect(opened.journal.progress("orders").positions).toEqual({});
      });
    });

    test("a letter of a partition tells where its event was", async () => {
      const ranges = [
        { feed: "c/t/0", base: 5, first: 5, last: 5, count: 1 },
        { feed: "c/t/1", base: 70, first: 70, last: 79, count: 10 },
      ];
      await opened.journal.commit(
        record(1, { madeOf: fromSource(...ranges), rejections: [rejection(0), rejection(2 ** 40 + 3)] }),
      );
      const { messages } = opened.letters("orders").list(10);
      expect(messages.map(({ feed, position }) => [feed, position])).toEqual([
        ["c/t/0", 5],
        ["c/t/1", 73],
      ]);
    });

    test("progress tells the last position and batch, the newest clock, and what was written last, also over an end", async () => {
      const window = { entries: 100, seconds: 60 };
      const target = { table: "t", time: 500, window, altered: 0, description: "CREATE TABLE t", taken: 0 };
      expect(opened.journal.progress("orders")).toEqual({ positions: {}, batch: 0, clock: 0 });
      await opened.journal.prepare(record(2, { clock: 20, state: { kind: "prepared", target } }));
      await reopen();
      expect(opened.journal.progress("orders")).toEqual({ positions: {}, batch: 2, clock: 20 });
      await opened.journal.prepare(record(3, { clock: 30, rows: 0 }));
      await opened.journal.commit(record(2, { clock: 20, revision: 7, state: { kind: "written", target, at: 500 } }));
      await reopen();
      const written = { revision: 7, table: "t", description: "CREATE TABLE t", time: 500 };
      expect(opened.journal.progress("orders")).toEqual({
        positions: { [streamFeed]: 29 },
        batch: 3,
        clock: 30,
        written,
      });
      await opened.journal.commit(
        record(3, { clock: 30, rows: 0, state: { kind: "written", target: { ...target, time: 900 } } }),
      );
      await opened.journal.mark("orders", 45);
      await reopen();
      expect(opened.journal.progress("orders")).toEqual({
        positions: { [streamFeed]: 39 },
        batch: 3,
        clock: 45,
        written,
      });
      expect(opened.journal.progress("other")).toEqual({ positions: {}, batch: 0, clock: 0 });
    });

    test(
      "a pipeline that is paused for days does not make the journal grow while another one works",
      { timeout: 120_000 },
      async () => {
        const paused = record(1, { pipeline_id: "paused", keys: keysAt([10], 0) });
        await opened.journal.prepare(paused);
        const group = 250;
        /** Batches of ten keys each, one every 10 ms; a key counts for 100 ms. */
        const work = async (from: number, to: number): Promise<void> => {
          for (let first = from; first < to; first += group) {
            const batches = Array.from({ length: group }, (_, index) => {
              const [batch, clock] = [first + index, (first + index) * 10];
              const positions = Array.from({ length: 10 }, (_key, at) => batch * 10 + at);
              return record(batch, { clock, keys: keysAt(positions, clock) });
            });
            await Promise.all(batches.map((batch) => opened.journal.prepare(batch)));
            await Promise.all(batches.map((batch) => opened.journal.commit(batch)));
          }
        };
        await work(1, 751);
        const before = await opened.bytes();
        await work(751, 2_251);
        expect(await opened.bytes()).toBeLessThan(before * 1.5);
        expect(opened.journal.pending("paused").map(plain)).toEqual([plain(paused)]);
        expect((await allFinalKeys(opened.journal)).length).toBeLessThan(2 * group);
      },
    );

    test("dead letters are listed in pages, oldest first, and listing takes nothing out", async () => {
      const five = [1, 2, 3, 4, 5].map(rejection);
      await opened.journal.commit(record(1, { rejections: five }));
      const queue = opened.letters("orders");
      const first = queue.list(2);
      expect(first).toMatchObject({ next_cursor: "2", has_more: true });
      const second = queue.list(2, first.next_cursor);
      expect(second.messages.map(({ message_id }) => message_id)).toEqual(["3", "4"]);
      expect(queue.list(2, second.next_cursor)).toMatchObject({ has_more: false });
      expect(queue.state().unconsumed_messages).toBe(5);
    });
  });
}
