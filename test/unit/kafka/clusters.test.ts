import { describe, expect, test } from "vitest";
import type { BatchRecord, SourceNotes } from "../../../engine/core/journal.ts";
import type { Chunk, PositionRange } from "../../../engine/core/positions.ts";
import type { SourceJournal } from "../../../engine/core/source.ts";
import { Event } from "../../../engine/event/event.ts";
import { Clusters, type ClusterSource } from "../../../engine/sources/kafka/clusters/clusters.ts";
import { SharedJournal } from "../../../engine/sources/kafka/clusters/shared-journal.ts";
import { SharedTelemetry } from "../../../engine/sources/kafka/clusters/shared-telemetry.ts";
import type { Telemetry } from "../../../engine/telemetry/telemetry.ts";

const pipeline_id = "orders";
const signals = { leave: new AbortController().signal, drain: new AbortController().signal };

/** A journal that keeps what it is told, and fails so many times. */
class TestJournal implements SourceJournal {
  batches: BatchRecord[] = [];
  notes: SourceNotes = {};
  positions: Record<string, number> = {};
  failures = 0;

  pending(): BatchRecord[] {
    return this.batches;
  }

  progress(): ReturnType<SourceJournal["progress"]> {
    return { positions: this.positions, batch: 0, clock: 0, notes: structuredClone(this.notes) };
  }

  async place(...[, positions, { notes } = {}]: Parameters<SourceJournal["place"]>): Promise<void> {
    await Promise.resolve();
    if (this.failures > 0) {
      this.failures -= 1;
      throw new Error("the disk is full");
    }
    Object.assign(this.positions, positions);
    if (notes !== undefined) this.notes = notes;
  }

  giveUp(): Promise<void> {
    return Promise.resolve();
  }
}

function range(feed: string, first: number, last: number): PositionRange {
  return { feed, base: first, first, last, count: last - first + 1 };
}

function batch(number: number, ...ranges: PositionRange[]): BatchRecord {
  return { pipeline_id, batch: number, madeOf: { kind: "source", ranges } } as unknown as BatchRecord;
}

/** A source with so many events, which gives up what it is told. */
class TestSource implements ClusterSource {
  readonly keepsReading = false;
  readonly waitsForSettled = false;
  readonly cluster: string;
  readonly feed: string;
  events: number;
  givesUp: number[] = [];
  readonly repeated: PositionRange[] = [];
  readonly acknowledged: PositionRange[] = [];
  readonly replayed: PositionRange[] = [];
  onOpen: () => void = () => undefined;

  constructor(cluster: string, events = 0) {
    this.cluster = cluster;
    this.feed = `${cluster}/t/0`;
    this.events = events;
  }

  open(): Promise<number[]> {
    this.onOpen();
    return Promise.resolve(this.givesUp);
  }

  begin(): Promise<void> {
    return Promise.resolve();
  }

  readAgain(ranges: readonly PositionRange[]): void {
    this.repeated.push(...ranges);
  }

  next(limit: number): Promise<Chunk[]> {
    const count = Math.min(limit, this.events);
    this.events -= count;
    if (count === 0) return Promise.resolve([]);
    const events = Array.from({ length: count }, (_, at) => new Event(at, 0, Buffer.from("{}")));
    return Promise.resolve([{ feed: this.feed, events, last: count - 1 }]);
  }

  wait(_count: number, _until: number | undefined, signal: AbortSignal): Promise<void> {
    if (this.events > 0 || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  }

  async *again(ranges: readonly PositionRange[]): AsyncGenerator<Chunk> {
    this.replayed.push(...ranges);
    for (const { feed, last } of ranges) yield await Promise.resolve({ feed, events: [], last });
  }

  mayHaveCompacted(ranges: readonly PositionRange[]): Promise<boolean> {
    return Promise.resolve(ranges.every(({ feed }) => feed === this.feed));
  }

  mayWrite(): Promise<void> {
    return Promise.resolve();
  }

  acknowledge(ranges: readonly PositionRange[]): void {
    this.acknowledged.push(...ranges);
  }

  drain(): void {
    this.events = 0;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

function clustersOf(sources: readonly TestSource[], batches: BatchRecord[] = []): Clusters {
  return new Clusters({ pipeline_id, journal: { pending: () => batches }, sources });
}

describe("a source of several clusters", () => {
  test.each([
    ["both have enough", 1_000, 1_000, [50, 50]],
    ["the first has little", 10, 1_000, [10, 90]],
    ["the second has little", 1_000, 10, [90, 10]],
    ["one has nothing", 0, 30, [0, 30]],
  ])("shares the room of a batch: %s", async (_title, one, other, expected) => {
    const clusters = clustersOf([new TestSource("a", one), new TestSource("b", other)]);
    const chunks = await clusters.next(100, Infinity);
    const counted = ["a/t/0", "b/t/0"].map((feed) =>
      chunks.filter((chunk) => chunk.feed === feed).reduce((sum, { events }) => sum + events.length, 0),
    );
    expect(counted).toEqual(expected);
  });

  test("begins with another one each time, so that a batch of one event starves none", async () => {
    const clusters = clustersOf([new TestSource("a", 5), new TestSource("b", 5)]);
    const feeds: string[] = [];
    for (let times = 0; times < 4; times += 1) {
      feeds.push(...(await clusters.next(1, Infinity)).map(({ feed }) => feed));
    }
    expect(feeds).toEqual(["a/t/0", "b/t/0", "a/t/0", "b/t/0"]);
  });

  test("waits until one of them has events, or until it is ended", async () => {
    const [one, other] = [new TestSource("a"), new TestSource("b", 1)];
    await clustersOf([one, other]).wait(1, undefined, new AbortController().signal);
    const end = new AbortController();
    const waiting = clustersOf([one, new TestSource("c")]).wait(1, undefined, end.signal);
    end.abort();
    await waiting;
    await clustersOf([one, new TestSource("c")]).wait(1, undefined, end.signal);
  });

  test("what one gives up is read again by those that were opened before it", async () => {
    const [one, other] = [new TestSource("a"), new TestSource("b")];
    other.givesUp = [4];
    const lost = batch(4, range("a/t/0", 5, 9), range("b/t/0", 3, 3));
    expect(await clustersOf([one, other], [batch(3, range("a/t/0", 0, 4)), lost]).open(signals)).toEqual([4]);
    expect(one.repeated).toEqual([range("a/t/0", 5, 9), range("b/t/0", 3, 3)]);
  });

  test("each gets the ranges of its own cluster; those of no cluster are gone", async () => {
    const [one, other] = [new TestSource("a"), new TestSource("b")];
    const clusters = clustersOf([one, other]);
    await clusters.open(signals);
    const ranges = [range("b/t/0", 1, 2), range("a/t/0", 3, 4), range("old/t/0", 5, 6)];
    const found: string[] = [];
    for await (const { feed } of clusters.again(ranges)) found.push(feed);
    expect(found).toEqual(["a/t/0", "b/t/0"]);
    clusters.acknowledge(ranges);
    expect([one.acknowledged, other.acknowledged]).toEqual([[ranges[1]], [ranges[0]]]);
    expect(await clusters.mayHaveCompacted(ranges)).toBe(false);
    expect(await clusters.mayHaveCompacted(ranges.slice(0, 2))).toBe(true);
  });

  test("two connections that lead to one cluster end the start", async () => {
    await expect(clustersOf([new TestSource("a"), new TestSource("a")]).open(signals)).rejects.toThrow(
      "pipeline orders: the connections of its sources lead to one Kafka cluster, a: give all sources the same",
    );
  });
});

describe("a journal that several readers share", () => {
  test("keeps the notes of all of them, also when one removes its own", async () => {
    const journal = new TestJournal();
    const cut = { end: 5, next: 9 };
    journal.notes = { topicIds: { "a/t": ["1"], "b/t": ["2"] }, cutLogs: { "a/t/0": cut } };
    const shared = new SharedJournal(journal, pipeline_id);
    const [one, other] = [shared.reader(), shared.reader()];
    const [seen, seenToo] = [one.progress(pipeline_id).notes!, other.progress(pipeline_id).notes!];
    await Promise.all([
      one.place(pipeline_id, {}, { notes: { ...seen, cutLogs: {}, rewound: { a: ["earliest"] } } }),
      other.place(
        pipeline_id,
        { "b/t/0": 7 },
        { notes: { ...seenToo, topicIds: { ...seenToo.topicIds, "b/t": ["2", "3"] }, rewound: { b: ["earliest"] } } },
      ),
    ]);
    expect(journal.notes).toEqual({
      topicIds: { "a/t": ["1"], "b/t": ["2", "3"] },
      cutLogs: {},
      starts: {},
      rewound: { a: ["earliest"], b: ["earliest"] },
    });
    expect(journal.positions).toEqual({ "b/t/0": 7 });
  });

  test("a write that fails leaves nothing for the next one", async () => {
    const journal = new TestJournal();
    journal.failures = 1;
    const shared = new SharedJournal(journal, pipeline_id);
    const [one, other] = [shared.reader(), shared.reader()];
    const writes = [
      one.place(pipeline_id, {}, { notes: { topicIds: { "a/t": ["1"] } } }),
      other.place(pipeline_id, {}, { notes: { topicIds: { "b/t": ["2"] } } }),
    ];
    expect((await Promise.allSettled(writes)).map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
    expect(journal.notes.topicIds).toEqual({ "b/t": ["2"] });
    await one.place(pipeline_id, {}, { notes: { topicIds: { "a/t": ["1"] } } });
    expect(journal.notes.topicIds).toEqual({ "a/t": ["1"], "b/t": ["2"] });
  });

  test("what one has given up is pending for none", async () => {
    const journal = new TestJournal();
    journal.batches = [batch(1), batch(2)];
    const shared = new SharedJournal(journal, pipeline_id);
    const [one, other] = [shared.reader(), shared.reader()];
    await one.giveUp(journal.batches[1]!);
    expect(other.pending(pipeline_id).map((record) => record.batch)).toEqual([1]);
  });
});

function told(): { telemetry: SharedTelemetry; events: unknown[][] } {
  const events: unknown[][] = [];
  const telemetry = new Proxy({} as Telemetry, {
    get: (_target, name) => (event: Record<string, unknown>) => {
      const { pipeline_id: _id, seconds: _seconds, ...facts } = event;
      events.push([name, facts]);
    },
  });
  return { telemetry: new SharedTelemetry(telemetry, 2), events };
}

describe("telemetry that several readers share", () => {
  test("the lag is that of all, and unknown until it is known of each", () => {
    const { telemetry, events } = told();
    const [one, other] = [telemetry.reader(0, "a"), telemetry.reader(1, "b")];
    one.lag({ pipeline_id, partitions: 2, uncommitted: 1, lag: 10 });
    other.lag({ pipeline_id, partitions: 1, uncommitted: 0 });
    other.lag({ pipeline_id, partitions: 3, uncommitted: 4, lag: 5 });
    expect(events).toEqual([
      ["lag", { partitions: 2, uncommitted: 1 }],
      ["lag", { partitions: 3, uncommitted: 1 }],
      ["lag", { partitions: 5, uncommitted: 5, lag: 15 }],
    ]);
  });

  test("the lag is unknown from when it is unknown of one, as of a cluster that does not answer any more", () => {
    const { telemetry, events } = told();
    const [one, other] = [telemetry.reader(0, "a"), telemetry.reader(1, "b")];
    one.lag({ pipeline_id, partitions: 2, uncommitted: 0, lag: 0, lag_seconds: 0 });
    other.lag({ pipeline_id, partitions: 1, uncommitted: 0, lag: 0, lag_seconds: 0 });
    other.lag({ pipeline_id, partitions: 1, uncommitted: 0 });
    expect(events.map(([, facts]) => (facts as { lag?: number }).lag)).toEqual([undefined, 0, undefined]);
    expect(events.at(-1)![1]).not.toHaveProperty("lag_seconds");
  });

  test("the lag in time is that of the oldest, and partitions say in which cluster they are", () => {
    const { telemetry, events } = told();
    const [one, other] = [telemetry.reader(0, "a"), telemetry.reader(1, "b")];
    const lagging = { topic: "orders", partition: 0, lag: 2 };
    one.lag({ pipeline_id, partitions: 1, uncommitted: 0, lag: 2, lag_seconds: 9, by_partition: [lagging] });
    other.lag({ pipeline_id, partitions: 1, uncommitted: 0, lag: 3 });
    other.lag({
      pipeline_id,
      partitions: 1,
      uncommitted: 0,
      lag: 3,
      lag_seconds: 4,
      by_partition: [{ ...lagging, lag: 3 }],
    });
    const [first, second, third] = events.map(([, facts]) => facts);
    expect(first).not.toHaveProperty("lag_seconds");
    expect(second).not.toHaveProperty("lag_seconds");
    expect(third).toMatchObject({
      lag: 5,
      lag_seconds: 9,
      by_partition: [
        { ...lagging, lag: 3, cluster: "b" },
        { ...lagging, cluster: "a" },
      ],
    });
  });

  test("open transactions name their cluster, and what they hold back is known when each reader knows it", () => {
    const { telemetry, events } = told();
    const [one, other] = [telemetry.reader(0, "Kafka at a"), telemetry.reader(1, "Kafka at b")];
    const open = { topic: "orders", partition: 0, offset: 5, since: "now" };
    one.lag({ pipeline_id, partitions: 1, uncommitted: 0, held_back: 3, open_transactions: [open] });
    other.lag({ pipeline_id, partitions: 1, uncommitted: 0, held_back: 4 });
    const open_transactions = [{ ...open, cluster: "Kafka at a" }];
    expect(events).toEqual([
      ["lag", { partitions: 1, uncommitted: 0, open_transactions }],
      ["lag", { partitions: 2, uncommitted: 0, held_back: 7, open_transactions }],
    ]);
  });

  test("a pause names its cluster, and lasts until no reader has one of its class", () => {
    const { telemetry, events } = told();
    const [one, other] = [telemetry.reader(0, "Kafka at a"), telemetry.reader(1, "Kafka at b")];
    const pause = { class: "source" as const, since: "now", text: "gone", way_out: "" };
    one.paused({ pipeline_id, pause });
    other.paused({ pipeline_id, pause });
    one.pauseEnded({ pipeline_id, class: "source", seconds: 1 });
    one.pauseEnded({ pipeline_id, class: "source", seconds: 1 });
    other.pauseEnded({ pipeline_id, class: "source", seconds: 2 });
    expect(events).toEqual([
      ["paused", { pause: { ...pause, text: "Kafka at a: gone" } }],
      ["paused", { pause: { ...pause, text: "Kafka at b: gone" } }],
      ["paused", { pause: { ...pause, text: "Kafka at b: gone" } }],
      ["pauseEnded", { class: "source" }],
    ]);
  });

  test("back-pressure is on while it is on for one; foreign members are those of all groups", () => {
    const { telemetry, events } = told();
    const [one, other] = [telemetry.reader(0, "a"), telemetry.reader(1, "b")];
    one.backpressure({ pipeline_id, active: true, seconds: 0 });
    other.backpressure({ pipeline_id, active: true, seconds: 0 });
    one.backpressure({ pipeline_id, active: false, seconds: 3 });
    other.backpressure({ pipeline_id, active: false, seconds: 3 });
    one.foreignMembers({ pipeline_id, members: ["x"] });
    other.foreignMembers({ pipeline_id, members: ["y"] });
    one.foreignMembers({ pipeline_id, members: [] });
    expect(events).toEqual([
      ["backpressure", { active: true }],
      ["backpressure", { active: false }],
      ["foreignMembers", { members: ["x"] }],
      ["foreignMembers", { members: ["x", "y"] }],
      ["foreignMembers", { members: ["y"] }],
    ]);
  });

  test("anything else goes through as it is", () => {
    const { telemetry, events } = told();
    telemetry.reader(1, "b").wasFrozen({ pipeline_id });
    expect(events).toEqual([["wasFrozen", {}]]);
  });
});
