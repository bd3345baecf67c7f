import { afterEach, describe, expect, test, vi } from "vitest";
import { BatchReader, type BatchReaderOptions } from "../../../engine/batch/reader.ts";
import { Event } from "../../../engine/event/event.ts";
import type { CompiledPipeline } from "../../../engine/batch/compiled-pipeline.ts";
import { RetryPause } from "../../../engine/flow/retry-pause.ts";
import { StreamSource } from "../../../engine/sources/stream/stream-source.ts";

/** A source of `held` events whose positions are their numbers, of which `end` have arrived. */
function sourceOf(held: number, end = held): StreamSource {
  let known = end;
  return new StreamSource(
    {
      advance: (last) => (known = last),
      read: async (position, limit) => {
        const count = Math.max(0, Math.min(limit, Math.min(held, known) - position + 1));
        const at = (index: number): Event => new Event(position + index, Date.now(), Buffer.from("{}"));
        const events = Array.from({ length: count }, (_, index) => at(index));
        return count === 0 ? [] : [{ signal: undefined, events }];
      },
      close: async () => undefined,
    },
    end,
    1,
    new RetryPause("p", {} as never),
  );
}

/** Takes all rows; nothing is sent. */
const sink = {
  begin: () => ({ add: () => [], size: 0, isCurrent: true, body: () => Buffer.alloc(0) }),
} as Pick<CompiledPipeline["sink"], "begin"> as CompiledPipeline["sink"];

/** A line that keeps the events whose place, from 0, `keeps`. */
function line(keeps: (place: number) => boolean = () => true): CompiledPipeline {
  const apply = (events: readonly Event[]) => {
    const passed = events.filter(({ position }) => keeps(position));
    return { passed, dropped: events.length - passed.length, rejected: [] };
  };
  return {
    revision: 1,
    chains: new Map([[undefined, { receiver: "ingestor", transforms: [{ name: "ingestor", apply }] }]]),
    sink,
  };
}

function assemblerOf(
  source: StreamSource,
  max_batch_size: number,
  max_delay_time: string,
  more: Partial<BatchReaderOptions> = {},
) {
  const [leave, drain] = [new AbortController(), new AbortController()];
  const telemetry = {
    eventsRead: () => undefined,
    agedOut: () => undefined,
    tombstonesSkipped: () => undefined,
  } as never;
  const limits = { max_batch_size, max_delay_time };
  const parts = {
    pipeline_id: "p",
    source,
    telemetry,
    limits,
    maxAge: 60_000,
    clock: { now: () => Date.now(), earlier: () => Date.now() },
    letters: [],
    leave: leave.signal,
    drain: drain.signal,
    ...more,
  };
  return { reader: new BatchReader(parts), leave, drain };
}

const nothing = (): void => undefined;

const ranges = async (reader: BatchReader, count: number, by = line()): Promise<(string | undefined)[]> => {
  const found: (string | undefined)[] = [];
  for (let index = 0; index < count; index += 1) {
    const batch = await reader.next(by, () => index + 1, nothing);
    found.push(batch && `${batch.ranges[0]!.first}-${batch.ranges[0]!.last}`);
  }
  return found;
};

afterEach(() => vi.useRealTimers());

describe("a batch", () => {
  test("is full at max_batch_size rows, however long it might wait", async () => {
    const { reader } = assemblerOf(sourceOf(10), 4, "1h");
    expect(await ranges(reader, 2)).toEqual(["1-4", "5-8"]);
  });

  test("counts the rows that a filter leaves, not the events that were read", async () => {
    const { reader } = assemblerOf(sourceOf(100), 5, "1h");
    expect(
      await ranges(
        reader,
        1,
        line((place) => place % 10 === 9),
      ),
    ).toEqual(["1-50"]);
  });

  test("that is due holds everything that had come by then", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const source = sourceOf(7, 1);
    const { reader } = assemblerOf(source, 100, "60ms");
    const batch = reader.next(line(), () => 1, nothing);
    await vi.advanceTimersByTimeAsync(20);
    source.arrived(7);
    await vi.advanceTimersByTimeAsync(40);
    expect((await batch)?.ranges).toEqual([{ feed: "", base: 1, first: 1, last: 7, count: 7 }]);
  });

  test("that is filled while it waits does not wait any longer", async () => {
    const source = sourceOf(7, 1);
    const { reader } = assemblerOf(source, 3, "1h");
    const batch = reader.next(line(), () => 1, nothing);
    setTimeout(() => source.arrived(3), 5);
    expect((await batch)?.ranges[0]?.last).toBe(3);
  });
});

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

/** Whether they had a turn while a batch was read, each of whose reads takes so many milliseconds. */
const hadTurn = async (milliseconds: number): Promise<boolean> => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const source = sourceOf(40_000);
  const next = source.next.bind(source);
  source.next = (...given) => {
    vi.advanceTimersByTime(milliseconds);
    return next(...given);
  };
  const { reader } = assemblerOf(source, 40_000, "1h");
  let had = false;
  setImmediate(() => (had = true));
  await reader.next(line(), () => 1, nothing);
  return had;
};

describe("the other pipelines of the thread", () => {
  test("have a turn between two reads that take long, though the batch is not full", async () => {
    expect(await hadTurn(21)).toBe(true);
  });

  test.each([true, false])(
    "have the thread for half as long as a long read took, where there are some: %s",
    async (are) => {
      vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
      const source = sourceOf(10);
      const next = source.next.bind(source);
      source.next = (...given) => {
        vi.advanceTimersByTime(400);
        return next(...given);
      };
      const { reader } = assemblerOf(source, 10, "1h", { hasNeighbours: () => are });
      let isRead = false;
      const reading = reader.next(line(), () => 1, nothing).then(() => (isRead = true));
      await turns();
      expect(isRead).toBe(!are);
      await vi.advanceTimersByTimeAsync(199);
      await turns();
      expect(isRead).toBe(!are);
      await vi.advanceTimersByTimeAsync(1);
      await reading;
    },
  );

  test("have none after each read of a few milliseconds: it would cost more than it gives", async () => {
    expect(await hadTurn(1)).toBe(false);
  });
});

describe("a drain", () => {
  test("reads what was there when it began, in batches, and then has nothing more", async () => {
    const source = sourceOf(9, 5);
    const { reader, drain } = assemblerOf(source, 3, "1h");
    source.drain();
    drain.abort();
    source.arrived(9);
    expect(await ranges(reader, 3)).toEqual(["1-3", "4-5", undefined]);
  });

  test("ends a batch that waits, also one that is due while more has come", async () => {
    const source = sourceOf(9, 2);
    const { reader, drain } = assemblerOf(source, 100, "0s");
    source.drain();
    source.arrived(9);
    drain.abort();
    expect(await ranges(reader, 2)).toEqual(["1-2", undefined]);
  });

  test("ends a batch that has not begun", async () => {
    const source = sourceOf(0);
    const { reader, drain } = assemblerOf(source, 3, "1h");
    const batch = reader.next(line(), () => 1, nothing);
    source.drain();
    drain.abort();
    expect(await batch).toBeUndefined();
  });
});

test("a pipeline that leaves gives up what it was putting together", async () => {
  const { reader, leave, drain } = assemblerOf(sourceOf(1), 3, "1h");
  const batch = reader.next(line(), () => 1, nothing);
  leave.abort();
  drain.abort();
  await expect(batch).rejects.toThrow("the pipeline leaves");
});
