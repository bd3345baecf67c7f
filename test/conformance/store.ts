import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { EngineError } from "../../engine/index.ts";
import type { Table, TableStore } from "../../engine/core/store.ts";

export interface StoreUnderTest {
  /** Opens it; each time the same store. `onBroken` is called when its disk has failed. */
  open(onBroken?: () => void): TableStore;
  clean(): Promise<void>;
}

/** A store whose disk can be made to fail. */
export interface FailingStore extends StoreUnderTest {
  fail(): void;
  /** Mends the disk of a store that is closed. */
  mend(): Promise<void>;
}

type Key = [pipeline: string, number: number] | [pipeline: string, number: number, block: number];

/** What a change of the random stories does: puts (a number) and removals (undefined), and whether it throws in the end. */
const changes = fc.array(
  fc.record({
    operations: fc.array(
      fc.tuple(
        fc.constantFrom("one", "two"),
        fc.oneof(
          fc.tuple(fc.constantFrom("a", "a-b", "b"), fc.integer({ min: 0, max: 300 })),
          fc.tuple(fc.constantFrom("a", "b"), fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 2 })),
        ),
        fc.option(fc.nat(), { nil: undefined }),
      ),
      { maxLength: 5 },
    ),
    throws: fc.boolean(),
  }),
  { maxLength: 6 },
);

/** What every store does. `make` makes a store; `arrangeFull` lets the next write meet a full disk, and says how many bytes it puts. */
export function storeSuite(title: string, make: () => Promise<StoreUnderTest & { arrangeFull: () => number }>): void {
  describe(title, () => {
    let made: Awaited<ReturnType<typeof make>>;
    let store: TableStore;

    beforeEach(async () => {
      made = await make();
      store = made.open();
    });

    afterEach(async () => {
      await store.close();
      await made.clean();
    });

    const reopen = async (): Promise<void> => {
      await store.close();
      store = made.open();
    };

    test("what was written is there at once, within its change too, and when it is opened again", async () => {
      const table = store.table<unknown, string>("values");
      const value = { text: "é", list: [1, 2.5, -3], nested: { none: null } };
      await store.write(() => {
        table.putSync("a", value);
        expect(table.get("a")).toEqual(value);
        table.putSync("b", 1);
        table.removeSync("b");
        expect(table.doesExist("b")).toBe(false);
        table.putSync("bytes", new Uint8Array([1, 0, 255]));
      });
      await reopen();
      const kept = store.table<unknown, string>("values");
      expect(kept.get("a")).toEqual(value);
      expect(Buffer.from(kept.get("bytes") as Uint8Array)).toEqual(Buffer.from([1, 0, 255]));
      expect([...kept.getKeys()]).toEqual(["a", "bytes"]);
    });

    test("what a caller does with a value later changes nothing", async () => {
      const table = store.table<{ list: number[] }, number>("values");
      const value = { list: [1] };
      const written = store.write(() => table.putSync(1, value));
      await written;
      value.list.push(2);
      expect(table.get(1)).toEqual({ list: [1] });
    });

    test("a range has its start, not its end, and as many as its limit", async () => {
      const table = store.table<number, Key>("values");
      const keys: Key[] = [
        ["b", 1],
        ["a", 2],
        ["a", 10],
        ["a", 2, 1],
        ["a-b", 1],
        ["a", 1],
      ];
      await store.write(() => keys.forEach((key, index) => table.putSync(key, index)));
      expect([...table.getKeys()]).toEqual([
        ["a", 1],
        ["a", 2],
        ["a", 2, 1],
        ["a", 10],
        ["a-b", 1],
        ["b", 1],
      ]);
      const range = { start: ["a", 2] as Key, end: ["a", 10] as Key };
      expect([...table.getRange(range)]).toEqual([
        { key: ["a", 2], value: 1 },
        { key: ["a", 2, 1], value: 3 },
      ]);
      expect([...table.getKeys({ ...range, limit: 1 })]).toEqual([["a", 2]]);
      expect(table.getKeysCount(range)).toBe(2);
      expect(table.getKeysCount()).toBe(6);
    });

    test.each([0, 1, 2, 3])("where change %d of one turn throws, it alone fails, and leaves nothing", async (bad) => {
      const [first, second] = [store.table<string, number>("first"), store.table<string, number>("second")];
      await store.write(() => [0, 1, 2, 3].forEach((key) => first.putSync(key, "before")));
      const seen: number[] = [];
      const answers = await Promise.allSettled(
        [0, 1, 2, 3].map((key) =>
          store.write(() => {
            first.putSync(key, "after");
            second.putSync(key, "after");
            first.removeSync(10);
            first.putSync(10 + key, "new");
            if (key === bad) throw new EngineError("NOT_SUPPORTED", "simulated");
            // What failed before is not there any more, and what did not is.
            seen.push(second.getKeysCount());
          }),
        ),
      );
      expect(answers.map(({ status }) => status === "rejected")).toEqual([0, 1, 2, 3].map((key) => key === bad));
      expect(answers[bad]).toMatchObject({ reason: { code: "NOT_SUPPORTED" } });
      expect(seen).toEqual([1, 2, 3]);
      for (const again of [false, true]) {
        if (again) await reopen();
        const [one, two] = [store.table<string, number>("first"), store.table<string, number>("second")];
        const after = [0, 1, 2, 3].map((key) => (key === bad ? "before" : "after"));
        expect([0, 1, 2, 3].map((key) => one.get(key))).toEqual(after);
        expect([...two.getKeys()]).toEqual([0, 1, 2, 3].filter((key) => key !== bad));
        expect(one.doesExist(10 + bad)).toBe(false);
      }
    });

    test("a change that is alone and throws leaves nothing, and the next one is made", async () => {
      const table = store.table<number, number>("values");
      const failed = store.write(() => {
        table.putSync(1, 1);
        throw new TypeError("simulated");
      });
      await expect(failed).rejects.toMatchObject({ code: "STORAGE_FAILED" });
      await store.write(() => table.putSync(2, 2));
      await reopen();
      expect([...store.table<number, number>("values").getKeys()]).toEqual([2]);
    });

    test("a change whose key the store cannot hold fails alone", async () => {
      const table = store.table<number, string>("values");
      const answers = await Promise.allSettled([
        store.write(() => table.putSync("a", 1)),
        store.write(() => table.putSync("x".repeat(5000), 1)),
        store.write(() => table.putSync("b", 1)),
      ]);
      expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
      expect([...table.getKeys()]).toEqual(["a", "b"]);
    });

    test("without room nothing of the turn is there, and the next one is made", async () => {
      const table = store.table<number, number>("values");
      await store.write(() => table.putSync(0, 0));
      const bytes = made.arrangeFull();
      const answers = await Promise.allSettled([1, 2].map((key) => store.write(() => table.putSync(key, key), bytes)));
      const failed = { status: "rejected", reason: { code: "DISK_FULL" } };
      expect(answers).toMatchObject([failed, failed]);
      expect([...table.getKeys()]).toEqual([0]);
      await store.write(() => table.putSync(3, 3));
      await reopen();
      expect([...store.table<number, number>("values").getKeys()]).toEqual([0, 3]);
    });

    test("its end waits for what was asked before", async () => {
      const table = store.table<number, number>("values");
      const written = store.write(() => table.putSync(1, 1));
      await reopen();
      await written;
      expect(store.table<number, number>("values").get(1)).toBe(1);
    });

    test(
      "whatever is changed, it holds the changes that did not throw, in their order",
      { timeout: 120_000 },
      async () => {
        const expected = new Map<string, number>();
        await fc.assert(
          fc.asyncProperty(changes, async (turn) => {
            const tables = { one: store.table<number, Key>("one"), two: store.table<number, Key>("two") };
            const answers = await Promise.allSettled(
              turn.map(({ operations, throws }) =>
                store.write(() => {
                  for (const [name, key, value] of operations) change(tables[name], key as Key, value);
                  if (throws) throw new EngineError("NOT_SUPPORTED", "simulated");
                }),
              ),
            );
            expect(answers.map(({ status }) => status === "rejected")).toEqual(turn.map(({ throws }) => throws));
            for (const { operations } of turn.filter(({ throws }) => !throws)) {
              for (const [name, key, value] of operations) {
                if (value === undefined) expected.delete(JSON.stringify([name, key]));
                else expected.set(JSON.stringify([name, key]), value);
              }
            }
            const held = Object.entries(tables).flatMap(([name, table]) =>
              [...table.getRange()].map(({ key, value }) => [JSON.stringify([name, key]), value] as const),
            );
            expect(new Map(held)).toEqual(expected);
          }),
          { numRuns: 30, seed: 1 },
        );
        await reopen();
        const kept = ["one", "two"].reduce((sum, name) => sum + store.table<number, Key>(name).getKeysCount(), 0);
        expect(kept).toBe(expected.size);
      },
    );
  });
}

/** A store with a value, and how often it has said that it is broken. */
async function opened(made: FailingStore) {
  const seen = { broken: 0 };
  const store = made.open(() => (seen.broken += 1));
  const table = store.table<number, number>("values");
  await store.write(() => table.putSync(0, 0));
  return { store, table, seen };
}

/** What a store does whose disk fails. */
export async function failsOnce(made: FailingStore): Promise<void> {
  const { store, table, seen } = await opened(made);
  made.fail();
  const answers = await Promise.allSettled([1, 2].map((key) => store.write(() => table.putSync(key, key))));
  const failed = { status: "rejected", reason: { code: "STORAGE_UNAVAILABLE" } };
  expect(answers).toMatchObject([failed, failed]);
  await expect(store.write(() => expect.unreachable())).rejects.toMatchObject({ code: "STORAGE_UNAVAILABLE" });
  expect(() => store.checkRoom(0)).toThrow(expect.objectContaining({ code: "STORAGE_UNAVAILABLE" }));
  expect(seen.broken).toBe(1);
  await store.close();
  await made.mend();
  const again = made.open();
  const kept = again.table<number, number>("values");
  expect(kept.get(0)).toBe(0);
  await again.write(() => kept.putSync(3, 3));
  await again.close();
}

/** What a store does whose disk fails while nothing is written. */
export async function isChecked(made: FailingStore): Promise<void> {
  const { store, seen } = await opened(made);
  store.checkDisk();
  expect(seen.broken).toBe(0);
  made.fail();
  for (let times = 0; times < 2; times += 1) store.checkDisk();
  expect(seen.broken).toBe(1);
  await expect(store.write(() => expect.unreachable())).rejects.toMatchObject({ code: "STORAGE_UNAVAILABLE" });
  await store.close();
}

function change(table: Table<number, Key>, key: Key, value: number | undefined): void {
  if (value === undefined) table.removeSync(key);
  else table.putSync(key, value);
}
