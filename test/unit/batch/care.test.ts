import { describe, expect, test } from "vitest";
import { BatchBuilder } from "../../../engine/batch/builder.ts";
import { CarefulReading, takeAgain, type EventPlace } from "../../../engine/batch/careful-reading.ts";
import { Event } from "../../../engine/event/event.ts";
import type { BatchRecord } from "../../../engine/core/journal.ts";
import type { Chunk, PositionRange } from "../../../engine/core/positions.ts";
import type { CompiledPipeline } from "../../../engine/batch/compiled-pipeline.ts";
import { ThreadDeaths } from "../../../engine/workers/thread-deaths.ts";

/** A line that notes the texts of the events that it processes, and makes a row of each. */
function lineOf(processed: string[]): CompiledPipeline {
  const apply = (events: readonly Event[]) => {
    processed.push(...events.map(({ text }) => text));
    return { passed: [...events], dropped: 0, rejected: [] };
  };
  const sink = { begin: () => ({ add: () => [], size: 0, isCurrent: true, body: () => Buffer.alloc(0) }) };
  return {
    revision: 1,
    chains: new Map([[undefined, { receiver: "ingestor", transforms: [{ name: "ingestor", apply }] }]]),
    sink: sink as unknown as CompiledPipeline["sink"],
  };
}

function assemblyOf(processed: string[], ranges?: readonly PositionRange[]): BatchBuilder {
  const plan = { clock: 0, batch: 1, oldest: 0, ...(ranges === undefined ? {} : { ranges }) };
  return new BatchBuilder(lineOf(processed), plan, "p", {} as never);
}

const chunkOf = (feed: string, ...positions: number[]): Chunk => ({
  feed,
  events: positions.map((position) => new Event(position, 1, Buffer.from(`"${feed} ${position}"`))),
  last: positions.at(-1)! + 1,
});

const error = "it died";

describe("reading with care", () => {
  test("notes each event by feed and position before it is processed, and when it is done", () => {
    const processed: string[] = [];
    const noted: (EventPlace | undefined)[] = [];
    const reading = new CarefulReading({ deadly: [] }, (event) => {
      expect(processed.length).toBe(Math.floor(noted.push(event) / 2));
    });
    const builder = assemblyOf(processed);
    reading.take(builder, chunkOf("a", 7, 9));
    reading.take(builder, chunkOf("b", 7));
    expect(noted).toEqual([
      { feed: "a", position: 7 },
      undefined,
      { feed: "a", position: 9 },
      undefined,
      { feed: "b", position: 7 },
      undefined,
    ]);
    expect(builder.ranges).toEqual([
      { feed: "a", base: 7, first: 7, last: 10, count: 2 },
      { feed: "b", base: 7, first: 7, last: 8, count: 1 },
    ]);
    expect(reading.mostEvents).toBeLessThan(Infinity);
  });

  test("refuses the events that are known to be deadly, of their feed alone, and positions go on", () => {
    const processed: string[] = [];
    const reading = new CarefulReading({ deadly: [{ feed: "b", position: 8, error }] }, () => undefined);
    const builder = assemblyOf(processed);
    for (const feed of ["a", "b"]) reading.take(builder, chunkOf(feed, 7, 8, 9));
    expect(processed).toEqual(['"a 7"', '"a 8"', '"a 9"', '"b 7"', '"b 9"']);
    expect(builder.ranges.map(({ last, count }) => [last, count])).toEqual([
      [10, 3],
      [10, 3],
    ]);
    const { rejected } = builder.encode();
    expect(rejected).toMatchObject([
      { component: "ingestor", reason: "thread_death", error, original_message: '"b 8"' },
    ]);

    const record = {
      rejections: rejected,
      madeOf: { kind: "source", ranges: builder.ranges },
    } as unknown as BatchRecord;
    const repeated: string[] = [];
    const again = assemblyOf(repeated, builder.ranges);
    for (const feed of ["a", "b"]) takeAgain(again, chunkOf(feed, 7, 8, 9), record);
    expect(repeated).toEqual(processed);
    expect(again.encode().rejected).toEqual(rejected);
    expect(again.ranges).toEqual(builder.ranges);
  });
});

const large = (text: Buffer, position = 8): Chunk => ({
  feed: "a",
  events: [7, 8, 9].map((at) => new Event(at, 1, at === position ? text : Buffer.from(`"a ${at}"`))),
  last: 9,
  epoch: 3,
  oversized: new Set([position]),
});

const read = (text: Buffer): { builder: BatchBuilder; processed: string[] } => {
  const processed: string[] = [];
  const builder = assemblyOf(processed);
  new CarefulReading(undefined, () => undefined).take(builder, large(text));
  return { builder, processed };
};

describe("an event that is too large", () => {
  test("is processed by no transform, and becomes a dead letter with its beginning", () => {
    const { builder, processed } = read(Buffer.from(`{"text": "${"x".repeat(100_000)}"}`));
    expect(processed).toEqual(['"a 7"', '"a 9"']);
    expect(builder.ranges).toEqual([{ feed: "a", base: 7, first: 7, last: 9, count: 3, epoch: 3 }]);
    const [letter] = builder.encode().rejected;
    expect(letter).toMatchObject({
      component: "ingestor",
      reason: "too_large",
      error:
        "expected an event of at most 8388608 bytes, found 100012: this letter holds its beginning alone, its topic has all of it",
    });
    expect(letter!.original_message).toBe(`{"text": "${"x".repeat(65_526)}`);
  });

  test("ends its beginning with a whole character, or is kept in base64", () => {
    const [cut] = read(Buffer.from(`aa${"€".repeat(30_000)}`)).builder.encode().rejected;
    expect(cut!.original_message).toBe(`aa${"€".repeat(21_844)}`);
    expect(cut!.encoding).toBeUndefined();
    const [binary] = read(Buffer.alloc(100_000, 0xff)).builder.encode().rejected;
    expect(binary).toMatchObject({
      original_message: Buffer.alloc(65_536, 0xff).toString("base64"),
      encoding: "base64",
    });
  });

  test("is refused again where its record says so, and only there: an earlier version may have made a row of it", () => {
    const { builder } = read(Buffer.alloc(100_000, 0x20));
    const { rejected } = builder.encode();
    const madeOf = { kind: "source", ranges: builder.ranges };
    const again = (rejections: typeof rejected): string[] => {
      const processed: string[] = [];
      const { oversized: _unknown, ...chunk } = large(Buffer.from('"a 8"'));
      takeAgain(assemblyOf(processed, builder.ranges), chunk, { rejections, madeOf } as unknown as BatchRecord);
      return processed;
    };
    expect(again(rejected)).toEqual(['"a 7"', '"a 9"']);
    expect(again([])).toEqual(['"a 7"', '"a 8"', '"a 9"']);
  });
});

describe("what deaths say of a pipeline", () => {
  const by = { feed: "", position: 5 };
  const death = { error: new Error(error), isByOther: false };

  test("one makes it careful, two isolate it, three by one event condemn that, and it need not wait then", () => {
    const deaths = new ThreadDeaths();
    expect([deaths.care, deaths.isAlone, deaths.deathsInRow]).toEqual([undefined, false, 0]);
    deaths.died(death);
    expect([deaths.care, deaths.isAlone, deaths.deathsInRow]).toEqual([{ deadly: [] }, false, 1]);
    deaths.died({ ...death, by });
    deaths.died({ ...death, by });
    expect([deaths.care, deaths.isAlone, deaths.deathsInRow]).toEqual([{ deadly: [] }, true, 3]);
    deaths.died({ ...death, by });
    expect(deaths.care?.deadly).toMatchObject([by]);
    expect([deaths.isAlone, deaths.deathsInRow]).toEqual([true, 0]);
  });

  test("those of another pipeline say nothing, nor do different events condemn one", () => {
    const deaths = new ThreadDeaths();
    for (let turn = 0; turn < 5; turn += 1) deaths.died({ ...death, isByOther: true });
    expect(deaths.care).toBeUndefined();
    for (let position = 0; position < 5; position += 1) deaths.died({ ...death, by: { feed: "", position } });
    expect(deaths.care).toEqual({ deadly: [] });
    deaths.ranWell();
    expect(deaths.isAlone).toBe(false);
  });
});
