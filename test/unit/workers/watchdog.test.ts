import { expect, test } from "vitest";
import { ThreadHold } from "../../../engine/flow/thread-hold.ts";
import { type Hold, Watchdog } from "../../../engine/workers/watchdog.ts";

/** Times at which a watchdog looks, in milliseconds, while a pipeline has the thread as `holds` says; and what it told. */
function toldAt(times: readonly number[], holds: (time: number) => { number: number; turn: number }): number[][] {
  let now = 0;
  const hold = {
    get now() {
      return holds(now);
    },
  } as ThreadHold;
  const told: number[][] = [];
  const watchdog = new Watchdog([{ worker: { hold } }], ({ number, milliseconds, isNew }: Hold<unknown>) => {
    told.push([now, number, milliseconds, Number(isNew)]);
  });
  for (now of times) watchdog.look(now);
  return told;
}

const everyQuarter = (until: number): number[] => Array.from({ length: until / 250 + 1 }, (_, at) => at * 250);

test("a pipeline that has the thread for more than a second is told, and again as long as it has it", () => {
  expect(toldAt(everyQuarter(2_000), (now) => ({ number: now < 1_750 ? 7 : 0, turn: 3 }))).toEqual([
    [1_000, 7, 1_000, 1],
    [1_250, 7, 1_250, 0],
    [1_500, 7, 1_500, 0],
  ]);
});

test("one that has it again and again, a moment each, is not told", () => {
  expect(toldAt(everyQuarter(5_000), (now) => ({ number: 7, turn: now / 250 }))).toEqual([]);
});

test("a thread that nobody has is not told, nor one without memory that shows it", () => {
  expect(toldAt(everyQuarter(5_000), () => ({ number: 0, turn: 1 }))).toEqual([]);
  const watchdog = new Watchdog([{ worker: {} }], () => expect.unreachable());
  for (const now of everyQuarter(5_000)) watchdog.look(now);
});

test("a process that was frozen, or was busy itself, blames no pipeline for that time", () => {
  const frozen = [0, 250, 60_000, 60_250, 60_500, 60_750, 61_000];
  expect(toldAt(frozen, () => ({ number: 7, turn: 3 }))).toEqual([[61_000, 7, 1_000, 1]]);
});

test("the memory says who has the thread while work is done, and nobody afterwards, also where it fails", () => {
  const hold = new ThreadHold(new SharedArrayBuffer(ThreadHold.bytes));
  expect(hold.during(7, () => hold.now)).toEqual({ number: 7, turn: 1 });
  expect(hold.during(9, () => hold.now)).toEqual({ number: 9, turn: 2 });
  expect(() =>
    hold.during(9, () => {
      throw new Error("no");
    }),
  ).toThrow("no");
  expect(hold.now).toEqual({ number: 0, turn: 3 });
});
