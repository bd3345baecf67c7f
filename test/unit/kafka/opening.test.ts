import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { EngineError } from "../../../engine/core/errors.ts";
import { rangesOf, type BatchRecord } from "../../../engine/core/journal.ts";
import type { PositionRange } from "../../../engine/core/positions.ts";
import { Brokers } from "../../../engine/sources/kafka/brokers/brokers.ts";
import { kafkaClient } from "../../../engine/sources/kafka/brokers/connection.ts";
import { kafkaFeed } from "../../../engine/sources/kafka/positions/feed.ts";
import { Group } from "../../../engine/sources/kafka/group/group.ts";
import type { GroupState } from "../../../engine/sources/kafka/positions/group-state.ts";
import { claimText } from "../../../engine/sources/kafka/group/identity.ts";
import { Opening, type OpeningOptions } from "../../../engine/sources/kafka/group/opening.ts";
import { judge } from "../../../engine/sources/kafka/group/ownership.ts";
import { KafkaPositions } from "../../../engine/sources/kafka/positions/positions.ts";
import { defaultKafkaSettings } from "../../../engine/sources/kafka/brokers/settings.ts";
import { DeadLetters } from "../../../engine/state/dead-letters.ts";
import { StoreJournal } from "../../../engine/state/journal.ts";
import { Store } from "../../../engine/state/store.ts";
import type { Telemetry } from "../../../engine/telemetry/telemetry.ts";
import type { Pause } from "../../../engine/core/pause.ts";
import { RetryPause } from "../../../engine/flow/retry-pause.ts";
import { keptLog } from "../../support/engine.ts";

const own = { dataDir: "a".repeat(16), run: "11111111" };
const other = { dataDir: "b".repeat(16), run: "22222222" };
const [pipeline_id, topic, cluster] = ["orders", "orders", "c"];
const connection = {
  brokers: ["127.0.0.1:1"],
  protocol: "PLAINTEXT" as const,
  mechanism: "NO_AUTH" as const,
  skip_tls_verification: false,
};
const signals = { leave: new AbortController().signal, drain: new AbortController().signal };

/** A group that stands as it is told, and whose brokers do not answer so many times. */
class ToldGroup extends Group {
  committed = new Map<number, [offset: number, metadata: string | null]>();
  /** Topics beside the other one, in which nothing is committed. */
  others: string[] = [];
  partitions = 2;
  low = 0;
  failures = 0;
  high = 1000;
  ids = new Map<string, string>();
  /** Where logs part from what was read. */
  parted = new Map<string, number>();
  onRead: () => void = () => undefined;

  constructor() {
    const client = kafkaClient(connection, "test", keptLog());
    super(new Brokers(client, defaultKafkaSettings), "g", [topic]);
  }

  override topicIds(): Promise<Map<string, string>> {
    return Promise.resolve(this.ids);
  }

  override divergences(): Promise<Map<string, number>> {
    return Promise.resolve(this.parted);
  }

  override read(): Promise<GroupState> {
    this.onRead();
    if (this.failures > 0) {
      this.failures -= 1;
      return Promise.reject(new Error("nobody answers"));
    }
    const partitions = Array.from({ length: this.partitions }, (_, partition) => {
      const [offset, metadata] = this.committed.get(partition) ?? [];
      const committed =
        offset === undefined ? {} : { committed: { offset, metadata: metadata ?? "", isByConsumer: false } };
      return { feed: feedOf(partition), ends: { low: this.low, high: this.high }, ...committed };
    });
    const more = this.others.flatMap((name) =>
      partitions.map((_, partition) => ({ feed: feedOf(partition, name), ends: { low: this.low, high: 1000 } })),
    );
    return Promise.resolve({ cluster, partitions: [...partitions, ...more], members: [], topicIds: this.ids });
  }
}

/** A real journal, some of whose writes fail. */
class TroubledJournal extends StoreJournal {
  failures: ("place" | "move" | "giveUp")[] = [];
  failure: Error = new EngineError("DISK_FULL", "no room on the disk");

  override async place(...of: Parameters<StoreJournal["place"]>): Promise<void> {
    this.#failOnce(of[2]?.isMove === true ? "move" : "place");
    await super.place(...of);
  }

  override async giveUp(record: BatchRecord): Promise<void> {
    this.#failOnce("giveUp");
    await super.giveUp(record);
  }

  #failOnce(write: "place" | "move" | "giveUp"): void {
    const at = this.failures.indexOf(write);
    if (at === -1) return;
    this.failures.splice(0, at + 1);
    throw this.failure;
  }
}

let folder: string;
let store: Store;
let journal: TroubledJournal;
let group: ToldGroup;
let told: [event: string, fields: Record<string, unknown>][];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-opening-"));
  store = Store.open(folder);
  const letters: DeadLetters = new DeadLetters(store, (id) => journal.heldLetters(id));
  journal = new TroubledJournal(store, letters);
  group = new ToldGroup();
  told = [];
});
afterEach(async () => {
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

/** A start of the pipeline on what the journal holds. */
function start(
  options: Partial<OpeningOptions["options"]> = {},
  topics: OpeningOptions["topics"] = new Map([[topic, { start: "earliest", hasDedup: true }]]),
): { opening: Opening; positions: KafkaPositions } {
  const telemetry = new Proxy({} as Telemetry, {
    get: (_target, event) => (fields: Record<string, unknown>) => void told.push([String(event), fields]),
  });
  const parts: OpeningOptions = {
    pipeline_id,
    topics,
    identity: { ...own, earlier: new Set() },
    options: { take_over: other.run, on_lost: "pause", ...options },
    journal,
    telemetry,
    pause: new RetryPause(pipeline_id, telemetry, () => Promise.resolve()),
  };
  const positions = new KafkaPositions(topics.keys(), pipeline_id, journal);
  return { opening: new Opening(parts, group, positions), positions };
}

const feedOf = (partition: number, of = topic): string => kafkaFeed({ cluster, topic: of, partition });

const rangeOf = (partition: number, first: number, last: number) => {
  return { feed: feedOf(partition), base: first, first, last, count: last - first + 1 };
};

/** Makes a batch pending. */
async function prepared(batch: number, ranges: PositionRange[], over: Partial<BatchRecord> = {}) {
  const rows = ranges.reduce((sum, { count }) => sum + count, 0);
  const token = String(batch).padStart(32, "0");
  const fixed = { revision: 1, clock: 1, oldest: 0, rejections: [], excluded: [], keys: [], waiting: [] };
  const state = { kind: "prepared" } as const;
  const madeOf = { kind: "source", ranges } as const;
  const record: BatchRecord = { batch, pipeline_id, madeOf, token, rows, ...fixed, state, ...over };
  await journal.prepare(record);
  return record;
}

/** Both partitions stand at 50 here; another run has read so many of the first. */
async function readElsewhere(upTo: number): Promise<void> {
  await journal.place(pipeline_id, { [feedOf(0)]: 49, [feedOf(1)]: 49 });
  group.committed = new Map([[0, [upTo, claimText(other, upTo)]]]);
}

const pending = (): number[] => journal.pending(pipeline_id).map(({ batch }) => batch);
const takenOver = () => told.filter(([event]) => event === "takenOver").map(([, fields]) => fields);

describe("a run that is taken over", () => {
  test.each([[[]], [["place"]], [["giveUp"]], [["giveUp", "place"]]] as const)(
    "gives up what it has read, once, with writes that fail: %j",
    async (failures) => {
      await readElsewhere(70);
      await prepared(1, [rangeOf(0, 50, 59)]);
      await prepared(2, [rangeOf(0, 60, 69)]);
      await prepared(3, [rangeOf(1, 50, 59)]);
      journal.failures = [...failures];
      const { opening, positions } = start();
      expect(await opening.run(signals)).toEqual({ givenUp: [1, 2], isMoved: false });
      expect(pending()).toEqual([3]);
      expect([positions.next(feedOf(0)), positions.next(feedOf(1))]).toEqual([70, 60]);
      expect(takenOver()).toEqual([{ pipeline_id, run: other.run, batches: 2, rows: 20 }]);
    },
  );

  test.each([0, 1, 2])(
    "leaves no gap in another partition of a batch, after a crash behind %i writes",
    async (writes) => {
      await readElsewhere(70);
      await prepared(1, [rangeOf(0, 50, 59), rangeOf(1, 50, 59)]);
      await prepared(2, [rangeOf(1, 60, 69)]);
      const given: number[] = [];
      const giveUp = journal.giveUp.bind(journal);
      const drain = new AbortController();
      journal.giveUp = async (record) => {
        if (given.length === writes) {
          drain.abort();
          throw new Error("the process ends");
        }
        given.push(record.batch);
        await giveUp(record);
      };
      await start()
        .opening.run({ ...signals, drain: drain.signal })
        .catch(() => undefined);
      journal.giveUp = giveUp;
      const { opening, positions } = start();
      await opening.run(signals);
      expect(pending()).toEqual([]);
      expect([positions.next(feedOf(0)), positions.next(feedOf(1))]).toEqual([70, 50]);
    },
  );

  test("goes on where it stood, also where a person has moved another partition and that fails at first", async () => {
    await readElsewhere(70);
    group.committed.set(1, [20, null]);
    await prepared(1, [rangeOf(0, 50, 59)]);
    journal.failures = ["move"];
    const { opening, positions } = start();
    expect(await opening.run(signals)).toEqual({ givenUp: [1], isMoved: true });
    expect([positions.next(feedOf(0)), positions.next(feedOf(1))]).toEqual([70, 20]);
    expect(takenOver()).toEqual([{ pipeline_id, run: other.run, batches: 1, rows: 10 }]);
  });

  test("and has read nothing: what is pending here is written, and not read again", async () => {
    await readElsewhere(50);
    await prepared(1, [rangeOf(0, 50, 59)]);
    const { opening, positions } = start();
    expect(await opening.run(signals)).toMatchObject({ givenUp: [] });
    expect(pending()).toEqual([1]);
    expect([positions.final(feedOf(0)), positions.next(feedOf(0))]).toEqual([50, 60]);
    // It may have written what it had not committed, which comes again: that is told.
    expect(takenOver()).toEqual([{ pipeline_id, run: other.run, batches: 0, rows: 0 }]);
  });

  test("has not read what is judged again here", async () => {
    await readElsewhere(70);
    await prepared(1, [], { madeOf: { kind: "released", ranges: [rangeOf(0, 10, 12)] }, rows: 3 });
    expect(await start().opening.run(signals)).toMatchObject({ givenUp: [] });
    expect(pending()).toEqual([1]);
  });

  test("and commits in a partition that appears later: it goes on where that stands", async () => {
    await readElsewhere(70);
    const { opening, positions } = start();
    await opening.run(signals);
    positions.settle([rangeOf(0, 70, 79)]);
    group.partitions = 3;
    group.committed = new Map([
      [0, [75, claimText(other, 75)]],
      [2, [30, claimText(other, 30)]],
    ]);
    const standing = await group.read();
    const judged = judge(standing, opening.known, false);
    if (judged.kind !== "ours") throw new Error("expected a group of our own");
    await opening.placeNew(standing, judged);
    expect([positions.final(feedOf(0)), positions.final(feedOf(1)), positions.final(feedOf(2))]).toEqual([80, 50, 30]);
  });
});

describe("a partition that a person has moved while a batch is pending", () => {
  test.each([
    ["backward", 20],
    ["forward", 90],
  ])("%s goes on from there, and the group is told no other offset", async (_where, to) => {
    await readElsewhere(50);
    group.committed = new Map([[0, [to, null]]]);
    const record = await prepared(1, [rangeOf(0, 50, 59), rangeOf(1, 50, 59)]);
    const { opening, positions } = start();
    expect(await opening.run(signals)).toEqual({ givenUp: [], isMoved: true });
    await journal.commit(record);
    expect(positions.settle(rangesOf(record))).toEqual([feedOf(1)]);
    expect([positions.final(feedOf(0)), positions.final(feedOf(1))]).toEqual([to, 60]);
    expect(journal.progress(pipeline_id).positions).toEqual({ [feedOf(0)]: to - 1, [feedOf(1)]: 59 });
    positions.began();
    expect(positions.settle([rangeOf(0, to, to + 9)])).toEqual([feedOf(0)]);
    expect(positions.final(feedOf(0))).toBe(to + 10);
  });
});

function learnedAgain(): KafkaPositions {
  const { positions } = start();
  positions.learn(cluster);
  return positions;
}

const nextOf = ({ positions }: { positions: KafkaPositions }): (number | undefined)[] =>
  [0, 1].map((partition) => positions.next(feedOf(partition)));
const rewinds = () =>
  told.filter(([event]) => event === "rewound").map(([, { partition, from, to }]) => [partition, from, to]);

describe("a pipeline whose file asks for a rewind", () => {
  beforeEach(() => readElsewhere(50));

  test("reads again from there once, also over restarts and where the group still has what it committed", async () => {
    group.committed = new Map([0, 1].map((partition) => [partition, [50, claimText(own, 50)]]));
    group.low = 10;
    const first = start({ rewind: "orders/0=20,orders/1=3" });
    expect(await first.opening.run(signals)).toMatchObject({ isMoved: true });
    expect(nextOf(first)).toEqual([20, 10]);
    expect(rewinds()).toEqual([
      [0, 50, 20],
      [1, 50, 10],
    ]);
    const again = start({ rewind: "orders/0=20,orders/1=3" });
    await again.opening.run(signals);
    expect([nextOf(again), rewinds().length]).toEqual([[20, 10], 2]);
    expect(classes()).not.toContain("owner");
    // Another value asks for another one.
    const earliest = start({ rewind: "earliest" });
    await earliest.opening.run(signals);
    expect(nextOf(earliest)).toEqual([10, 10]);
    // A way back to an earlier file, and forth, asks for none.
    await journal.place(pipeline_id, { [feedOf(0)]: 69, [feedOf(1)]: 69 });
    for (const rewind of ["orders/0=20,orders/1=3", undefined, "earliest"]) {
      await start(rewind === undefined ? {} : { rewind }).opening.run(signals);
    }
    expect(nextOf({ positions: learnedAgain() })).toEqual([70, 70]);
    const anew = start({ rewind: "earliest #2" });
    await anew.opening.run(signals);
    expect(nextOf(anew)).toEqual([10, 10]);
  });

  test("writes what is pending first, of which nothing is gone", async () => {
    await journal.place(pipeline_id, { [feedOf(0)]: 29 });
    group.committed = new Map();
    await prepared(1, [rangeOf(0, 30, 49)]);
    await start({ rewind: "earliest" }).opening.run(signals);
    const after = start({ rewind: "earliest" });
    expect(await after.opening.run(signals)).toMatchObject({ isMoved: true });
    expect(await after.opening.stillHolds([rangeOf(0, 30, 49)], signals)).toBe(true);
    expect([pending(), nextOf(after)]).toEqual([[1], [0, 0]]);
  });

  test("begins where it would without it if it is new, and is never set forward", async () => {
    const forward = start({ rewind: "orders/0=70" });
    await forward.opening.run(signals);
    expect([nextOf(forward), rewinds()]).toEqual([[50, 50], []]);
    expect(told).toContainEqual(["rewoundNothing", { pipeline_id, asked: "orders/0=70" }]);
    const topics = new Map([["returns", { start: "latest" as const, hasDedup: false }]]);
    group.others = ["returns"];
    const fresh = start({ rewind: "earliest" }, topics);
    await fresh.opening.run(signals);
    expect(fresh.positions.next(feedOf(0, "returns"))).toBe(1000);
  });
});

test("whether ranges are still there is asked until the brokers answer", async () => {
  await readElsewhere(50);
  const { opening } = start();
  await opening.run(signals);
  group.failures = 2;
  expect(await opening.stillHolds([rangeOf(0, 50, 59)], signals)).toBe(true);
  expect(await opening.stillHolds([rangeOf(0, 995, 1004)], signals)).toBe(false);
  expect(told.filter(([event]) => event === "paused")).toHaveLength(1);
  expect(told.at(-1)![0]).toBe("pauseEnded");
});

const classes = () => told.filter(([event]) => event === "paused").map(([, { pause }]) => (pause as Pause).class);

describe("a write that fails in the middle of an opening", () => {
  test("for want of room is a pause of the disk", async () => {
    journal.failures = ["place"];
    const { opening, positions } = start({ start: "earliest" });
    await opening.run(signals);
    expect(classes()).toEqual(["disk"]);
    expect(positions.final(feedOf(1))).toBe(0);
  });

  test("for another reason ends the start", async () => {
    journal.failures = ["place"];
    journal.failure = new EngineError("STORAGE_FAILED", "the store is damaged");
    await expect(start().opening.run(signals)).rejects.toThrow("the store is damaged");
    expect(classes()).toEqual([]);
  });
});

test("a partition that goes on where nothing is left changes no other, which may be read by somebody else", async () => {
  await readElsewhere(50);
  const { opening, positions } = start({ on_lost: "skip" });
  await opening.run(signals);
  group.low = 60;
  await opening.checkRange(signals, { only: feedOf(1) });
  expect([positions.next(feedOf(0)), positions.next(feedOf(1))]).toEqual([50, 60]);
  const skipped = told.filter(([event]) => event === "positionsSkipped").map(([, fields]) => fields);
  expect(skipped).toEqual([{ pipeline_id, topic, partition: 1, from: 50, to: 60 }]);
});

const pauseTexts = (): string[] =>
  told.filter(([event]) => event === "paused").map(([, { pause }]) => (pause as Pause).text);

const removed = (partition: number): string =>
  `partition ${partition} of topic ${topic} goes on at offset 50, and the brokers have 60 to 1000`;

describe("a pause for lost events names each partition that has lost some", () => {
  test("when the pipeline starts", async () => {
    await readElsewhere(50);
    group.low = 60;
    await expect(start().opening.run(drainedAfter(6))).rejects.toThrow(removed(1));
    expect(pauseTexts()).toEqual([`${removed(0)}; ${removed(1)}`]);
  });

  test("while it runs, whichever looks, and until none waits", async () => {
    await readElsewhere(50);
    const { opening } = start();
    await opening.run(signals);
    group.low = 60;
    const drained = drainedAfter(12);
    const looks = [0, 1].map((of) => opening.checkRange(drained, { only: feedOf(of), isRunning: true }));
    await Promise.allSettled(looks);
    expect(pauseTexts()).toEqual([removed(0), `${removed(0)}; ${removed(1)}`]);
    expect(opening.waitsForLost).toBe(false);
  });
});

const skippedAt = (): unknown[] =>
  told.filter(([event]) => ["positionsSkipped", "logCut", "topicRecreated"].includes(event));

/** Ends the wait for word of a person, after so many looks. */
function drainedAfter(looks: number): typeof signals {
  const drain = new AbortController();
  group.onRead = () => {
    looks -= 1;
    if (looks === 0) drain.abort();
  };
  return { ...signals, drain: drain.signal };
}

describe("a log that ends before what is to be read next", () => {
  beforeEach(async () => {
    await readElsewhere(50);
    group.committed = new Map();
    group.high = 40;
    group.low = 10;
  });

  test("is read on from its end with on_lost: skip, and that is told", async () => {
    const { opening, positions } = start({ on_lost: "skip" });
    await opening.run(signals);
    expect([positions.next(feedOf(0)), positions.next(feedOf(1))]).toEqual([40, 40]);
    const cut = { pipeline_id, topic, from: 50, to: 40 };
    expect(skippedAt()).toEqual([0, 1].map((partition) => ["logCut", { ...cut, partition }]));
  });

  test("is a pause that its growth does not end, also over a restart; with skip it goes on from the end that was found", async () => {
    await expect(start().opening.run(drainedAfter(6))).rejects.toThrow(/its log ended at 40/);
    group.high = 2000;
    await expect(start().opening.run(drainedAfter(6))).rejects.toThrow(/its log ended at 40/);
    group.onRead = () => undefined;
    const { opening, positions } = start({ on_lost: "skip" });
    await opening.run(signals);
    expect(positions.next(feedOf(0))).toBe(40);
    expect(classes()).toContain("lost");
    const [lost] = told.flatMap(([, { pause }]) => (pause === undefined ? [] : [pause as Pause]));
    expect(lost?.way_out).toMatch(
      /^restore the missing events, .* move its consumer group to the offsets to go on from$/,
    );
    await start().opening.run(signals);
  });

  test("for one look alone is none: a broker that begins to lead may say so", async () => {
    let looks = 0;
    group.onRead = () => {
      looks += 1;
      if (looks > 2) group.high = 1000;
    };
    const { opening, positions } = start({ on_lost: "skip" });
    await opening.run(signals);
    expect([positions.next(feedOf(0)), skippedAt()]).toEqual([50, []]);
  });

  test.each([50, 45, 700])("and that a person has moved to %i goes on there", async (to) => {
    await expect(start().opening.run(drainedAfter(6))).rejects.toThrow(/its log ended at 40/);
    group.onRead = () => undefined;
    group.high = 2000;
    group.committed = new Map([0, 1].map((partition) => [partition, [to, null]]));
    const { opening, positions } = start();
    expect(await opening.run(signals)).toMatchObject({ isMoved: true });
    expect([positions.next(feedOf(0)), positions.next(feedOf(1))]).toEqual([to, to]);
  });

  test("does not pass for an older copy of the data dir when it has gone back", async () => {
    group.committed = new Map([0, 1].map((partition) => [partition, [50, claimText(own, 50)]]));
    await start({ on_lost: "skip" }).opening.run(signals);
    await start().opening.run(signals);
    expect(classes()).not.toContain("owner");
  });

  test.each(["skip", "pause"] as const)(
    "behind what was read loses nothing that was read, nor passes anything over (on_lost: %s)",
    async (on_lost) => {
      group.high = 2000;
      const { positions: before } = start();
      before.learn(cluster);
      // A fetch was ahead of what was handed out.
      await before.noteCut(feedOf(0), 60);
      const { opening, positions } = start({ on_lost });
      await opening.run(signals);
      expect([positions.next(feedOf(0)), positions.cut(feedOf(0)), skippedAt()]).toEqual([50, undefined, []]);
      expect(classes()).not.toContain("lost");
      // As long as what was fetched may be handed out, it counts.
      await positions.noteCut(feedOf(0), 60);
      await opening.checkRange(signals, { isRunning: true });
      expect(positions.cut(feedOf(0))).toEqual({ end: 60, next: 50 });
      await opening.checkRange(signals, { only: feedOf(0), isRunning: true });
      expect(start().positions.cut(feedOf(0))).toBeUndefined();
    },
  );

  test("holds no more what a pending batch has read behind its end, however far it has grown", async () => {
    await journal.place(pipeline_id, { [feedOf(0)]: 29 });
    await prepared(1, [rangeOf(0, 30, 49)]);
    const { opening, positions } = start({ on_lost: "skip" });
    expect(await opening.run(signals)).toMatchObject({ isMoved: true });
    group.high = 2000;
    expect(await opening.stillHolds([rangeOf(0, 30, 39)], signals)).toBe(true);
    expect(await opening.stillHolds([rangeOf(0, 30, 49)], signals)).toBe(false);
    expect([positions.goneFrom(feedOf(0)), positions.next(feedOf(0))]).toEqual([40, 40]);
  });
});

test("whether the group is still ours is asked until the brokers answer and it is", async () => {
  await readElsewhere(50);
  group.committed = new Map();
  const { opening } = start({ take_over: "00000000" });
  await opening.run(signals);
  let reads = 0;
  group.onRead = () => {
    reads += 1;
    group.committed = reads < 4 ? new Map([[0, [60, claimText(other, 60)]]]) : new Map();
  };
  group.failures = 1;
  await opening.checkOwner(signals);
  expect([reads, classes()]).toEqual([4, ["source", "owner"]]);
  const pauses = told.flatMap(([, { pause }]) => (pause === undefined ? [] : [pause as Pause]));
  expect(pauses.at(-1)?.way_out).toMatch(/x-sluice\.take_over to the run .* not committed .* is written again/);
});

test("a partition that is not in its topic any more is lost, not done with", async () => {
  await readElsewhere(50);
  group.partitions = 1;
  await expect(start().opening.run(drainedAfter(6))).rejects.toThrow(/partition 1 .* its log ended at 0/);
});

describe("a topic that was created again", () => {
  const [former, present] = ["AAAAAAAAAAAAAAAAAAAAAA", "BBBBBBBBBBBBBBBBBBBBBB"];
  const anew = (partition: number): string => `${feedOf(partition)}/${present}`;

  beforeEach(async () => {
    await readElsewhere(50);
    group.committed = new Map();
    group.ids = new Map([[topic, former]]);
    await start().opening.run(signals);
    group.ids = new Map([[topic, present]]);
  });

  test("is a pause, however much it holds, and read from its beginning with on_lost: skip", async () => {
    await expect(start().opening.run(drainedAfter(6))).rejects.toThrow(/was deleted and created again/);
    group.low = 7;
    const { opening, positions } = start({ on_lost: "skip" });
    expect(await opening.run(signals)).toMatchObject({ isMoved: false });
    expect([positions.next(anew(0)), positions.next(anew(1))]).toEqual([7, 7]);
    expect(positions.feed(topic, 0)).toBe(anew(0));
    const recreated = { pipeline_id, topic, from: former, to: present, hasDedup: true };
    expect(skippedAt()).toEqual([["topicRecreated", recreated]]);
  });

  test("is read on after a restart, and a batch of the former topic is gone for good", async () => {
    await prepared(1, [rangeOf(0, 50, 59)]);
    await start({ on_lost: "skip" }).opening.run(signals);
    const { opening, positions } = start();
    await opening.run(signals);
    expect(await opening.stillHolds([rangeOf(0, 50, 59)], signals)).toBe(false);
    expect([positions.isThere(feedOf(0)), positions.isThere(anew(0))]).toEqual([false, true]);
    expect(positions.settle([rangeOf(0, 50, 59)])).toEqual([]);
    expect(positions.next(anew(0))).toBe(0);
  });

  test("is read where a person has put the group in each of its partitions", async () => {
    group.committed = new Map([
      [0, [300, null]],
      [1, [0, ""]],
    ]);
    const { opening, positions } = start();
    await opening.run(signals);
    expect([positions.next(anew(0)), positions.next(anew(1))]).toEqual([300, 0]);
  });

  test("is no other because of a claim on the former one, which the group still holds", async () => {
    group.committed = new Map([0, 1].map((partition) => [partition, [50, claimText(own, 50)]]));
    await expect(start().opening.run(drainedAfter(6))).rejects.toThrow(/was deleted and created again/);
  });

  test("is waited for where a broker still knows the former one", async () => {
    await start({ on_lost: "skip" }).opening.run(signals);
    let reads = 0;
    group.onRead = () => {
      reads += 1;
      group.ids = new Map([[topic, reads < 4 ? former : present]]);
    };
    const { opening, positions } = start({ on_lost: "skip" });
    await opening.run(signals);
    expect(positions.next(anew(0))).toBe(0);
    expect(skippedAt()).toHaveLength(1);
  });
});

describe("another topic of the pipeline", () => {
  const both: OpeningOptions["topics"] = new Map([
    [topic, { start: "earliest", hasDedup: true }],
    ["returns", { start: "latest", hasDedup: false }],
  ]);

  beforeEach(() => {
    group.others = ["returns"];
  });

  test.each<[string, OpeningOptions["options"], number]>([
    ["its source says", { on_lost: "pause" }, 1000],
    ["start says", { on_lost: "pause", start: "earliest" }, 0],
  ])("that is new begins where %s, and new partitions of one that is known at their beginning", async (...given) => {
    const [, options, begins] = given;
    await journal.place(pipeline_id, { [feedOf(0)]: 49 });
    const { opening, positions } = start(options, both);
    expect(await opening.run(signals)).toEqual({ givenUp: [], isMoved: false });
    const found = [feedOf(0), feedOf(1), feedOf(0, "returns"), feedOf(1, "returns")].map((feed) =>
      positions.final(feed),
    );
    expect(found).toEqual([50, 0, begins, begins]);
  });

  test("goes on where it stood when it comes back, also beside one of the same partitions", async () => {
    await journal.place(pipeline_id, { [feedOf(0)]: 49, [feedOf(1)]: 49, [feedOf(0, "returns")]: 9 });
    await start().opening.run(signals);
    const { opening, positions } = start({}, both);
    await opening.run(signals);
    expect([positions.next(feedOf(0)), positions.next(feedOf(0, "returns"))]).toEqual([50, 10]);
    expect(positions.settle([rangeOf(0, 50, 59), { ...rangeOf(0, 10, 19), feed: feedOf(0, "returns") }])).toEqual([
      feedOf(0),
      feedOf(0, "returns"),
    ]);
    expect([positions.final(feedOf(0)), positions.final(feedOf(0, "returns"))]).toEqual([60, 20]);
  });

  test("is named where it goes on where nothing is left", async () => {
    await journal.place(pipeline_id, { [feedOf(0)]: 99, [feedOf(0, "returns")]: 9 });
    group.low = 60;
    await start({ on_lost: "skip" }, both).opening.run(signals);
    const skipped = told.filter(([event]) => event === "positionsSkipped").map(([, fields]) => fields);
    expect(skipped).toEqual([{ pipeline_id, topic: "returns", partition: 0, from: 10, to: 60 }]);
  });
});
