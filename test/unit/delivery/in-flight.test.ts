import { expect, test } from "vitest";
import { LeftForLater } from "../../../engine/core/errors.ts";
import type { BatchOrigin, BatchRecord } from "../../../engine/core/journal.ts";
import { InFlightBatches, type Turn } from "../../../engine/delivery/in-flight.ts";

const ofSource: BatchOrigin = { kind: "source", ranges: [{ feed: "", base: 0, first: 1, last: 1, count: 1 }] };
const ofLetters: BatchOrigin = { kind: "letters", numbers: [1] };

/** Batches in flight, each of which ends when the test says so. */
class Flight {
  readonly batches: InFlightBatches;
  readonly givenUp: unknown[] = [];
  readonly turns: Turn[] = [];
  readonly #ends: { commit: () => void; fail: (error: Error) => void }[] = [];

  constructor(replicas: number) {
    this.batches = new InFlightBatches(replicas, (error) => this.givenUp.push(error));
  }

  /** Returns its index. */
  begin(madeOf: BatchOrigin = ofSource, clock = 0): number {
    const index = this.turns.length;
    const ended = new Promise<void>((commit, fail) => this.#ends.push({ commit, fail }));
    this.batches.begin({ batch: index + 1, madeOf, clock } as BatchRecord, (turn) => {
      this.turns.push(turn);
      return ended;
    });
    return index;
  }

  async commit(index: number): Promise<void> {
    this.batches.committed({ batch: index + 1 } as BatchRecord);
    this.#ends[index]!.commit();
    await settled();
  }

  async fail(index: number, error: Error): Promise<void> {
    this.#ends[index]!.fail(error);
    await settled();
  }

  /** Which batches have their turn by now. */
  async isNow(): Promise<boolean[]> {
    await settled();
    return this.turns.map(({ isNow }) => isNow);
  }
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

test("batches of a source have their turns one after another, those of dead letters at once", async () => {
  const flight = new Flight(3);
  const [first, second] = [flight.begin(), flight.begin(), flight.begin(ofLetters)];
  expect(flight.turns.map(({ isNow }) => isNow)).toEqual([false, false, false]);
  expect(await flight.isNow()).toEqual([true, false, true]);
  await flight.commit(first);
  expect(await flight.isNow()).toEqual([true, true, true]);
  flight.begin();
  expect(await flight.isNow()).toEqual([true, true, true, false]);
  await flight.commit(second);
  expect(await flight.isNow()).toEqual([true, true, true, true]);
});

test("a batch of dead letters does not hold up the batches of the source", async () => {
  const flight = new Flight(3);
  flight.begin(ofLetters);
  flight.begin();
  expect(await flight.isNow()).toEqual([true, true]);
});

test("the keys of the oldest batch in flight are needed until it is committed", async () => {
  const flight = new Flight(3);
  expect(flight.batches.oldest(1_000)).toBe(1_000);
  const [first, second] = [flight.begin(ofSource, 400), flight.begin(ofSource, 600)];
  expect(flight.batches.oldest(1_000)).toBe(400);
  await flight.commit(first);
  expect(flight.batches.oldest(1_000)).toBe(600);
  await flight.commit(second);
  expect(flight.batches.oldest(1_000)).toBe(1_000);
});

test("after a batch that was given up there is room for no other, and the end waits for those before it", async () => {
  const flight = new Flight(3);
  const error = new Error("damaged");
  const first = flight.begin();
  await expect(flight.batches.inSlot(() => Promise.reject(error))).rejects.toBe(error);
  await expect(flight.batches.room()).rejects.toBeInstanceOf(LeftForLater);
  let hasEnded = false;
  const ended = flight.batches.ended().then(() => (hasEnded = true));
  await settled();
  expect(hasEnded).toBe(false);
  await flight.fail(first, error);
  await ended;
  expect(flight.givenUp).toEqual([error]);
  expect(flight.batches.isEmpty).toBe(true);
});

test("as many inserts are sent at the same time as there are replicas", async () => {
  const flight = new Flight(2);
  const answers: (() => void)[] = [];
  const sent = [0, 1, 2].map((index) =>
    flight.batches.inSlot(() => new Promise<number>((resolve) => answers.push(() => resolve(index)))),
  );
  await settled();
  expect(answers).toHaveLength(2);
  answers[0]!();
  await settled();
  expect(answers).toHaveLength(3);
  for (const answer of answers) answer();
  expect(await Promise.all(sent)).toEqual([0, 1, 2]);
});
