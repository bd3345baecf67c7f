import * as fc from "fast-check";
import type { Fate } from "./ledger.ts";
import type { PipelineShape } from "./pipelines.ts";

/** What a world is made of. */
export interface WorldShape {
  pipelines: PipelineShape[];
  /** How the target tables are kept, and how many entries their deduplication log has. */
  table: "MergeTree" | "ReplicatedMergeTree";
  entries: number;
  /** Threads that run the pipelines. */
  threads: number;
  /** What every draw of the world comes from. */
  seed: number;
}

export interface NewEvent {
  key: string;
  fate: Fate;
  part: number;
}

/** One thing that happens. `pipeline` is taken modulo the number of pipelines. */
export type Happening =
  | { kind: "send"; pipeline: number; events: NewEvent[] }
  | { kind: "time passes"; milliseconds: number }
  | { kind: "insert meets"; pipeline: number; trouble: number; times: number }
  /** One of so many inserts, and of so many other statements, meets a trouble; 0: none. */
  | { kind: "weather"; pipeline: number; inserts: number; others: number; milliseconds: number }
  | { kind: "server is killed"; pipeline: number; losesParts: boolean; milliseconds: number }
  | { kind: "constraint"; pipeline: number; isThere: boolean }
  | { kind: "other writer"; pipeline: number; blocks: number }
  | { kind: "network"; pipeline: number; is: "silent" | "refusing"; milliseconds: number }
  | { kind: "connections are reset"; pipeline: number }
  /** `isMended`: while nothing runs, a person drops the constraints of the tables, which take everything then. */
  | { kind: "process is killed"; milliseconds: number; isMended: boolean }
  /** The process is killed when the k-th part from now on is written, before it hears of that. */
  | { kind: "process is killed at an insert"; pipeline: number; kth: number; milliseconds: number; isMended: boolean }
  | { kind: "power is lost"; milliseconds: number; isMended: boolean }
  | { kind: "process restarts" }
  | { kind: "thread dies" }
  | { kind: "disk fails"; call: DiskCallName; kth: number; code: string; taken: "nothing" | "part" | "all" }
  | { kind: "disk is full"; milliseconds: number }
  | { kind: "store fails"; code: "ENOSPC" | "EIO" }
  | { kind: "clock steps"; by: number }
  | { kind: "machine stands still"; milliseconds: number; monotonicStands: boolean }
  | { kind: "edit"; pipeline: number }
  | { kind: "larger batches"; pipeline: number }
  | { kind: "option"; pipeline: number; on_uncertain: "insert" | "skip" | "pause" }
  | { kind: "secret changes" }
  | { kind: "state"; pipeline: number; state: "Running" | "Stopped" | "Terminated" }
  | { kind: "file"; pipeline: number; isThere: boolean }
  | { kind: "reprocess"; pipeline: number }
  | { kind: "transaction is aborted"; pipeline: number; events: NewEvent[] }
  | { kind: "group rebalances"; pipeline: number }
  | { kind: "broker meets"; request: BrokerRequest; trouble: BrokerTrouble }
  | { kind: "broker is down"; milliseconds: number }
  | { kind: "topic is cut"; pipeline: number; by: "truncation" | "retention" | "deletion" };

type BrokerRequest = "Fetch" | "ListOffsets" | "Metadata" | "OffsetCommit" | "OffsetFetch" | "JoinGroup" | "Heartbeat";
type BrokerTrouble = "not leader" | "empty" | "slow" | "cut" | "silent";

type DiskCallName = "open" | "write" | "datasync" | "sync" | "syncFolder" | "rename" | "truncate" | "unlink" | "read";

const pipeline = fc.nat({ max: 2 });
const milliseconds = fc.constantFrom(1, 5, 20, 100, 500, 2_000, 10_000, 40_000, 300_000);
const short = fc.constantFrom(10, 200, 3_000, 20_000);

const event: fc.Arbitrary<NewEvent> = fc.record({
  key: fc.constantFrom("a", "b", "c", "d", "e"),
  fate: fc.constantFrom<Fate>(
    "row",
    "row",
    "row",
    "row",
    "row",
    "filtered",
    "even",
    "undeclared",
    "range",
    "constraint",
  ),
  part: fc.integer({ min: 1, max: 3 }),
});

interface OneKind {
  kind: Happening["kind"];
  arbitrary: fc.Arbitrary<Happening>;
}

function one<K extends Happening["kind"]>(
  kind: K,
  fields: {
    [F in Exclude<keyof Extract<Happening, { kind: K }>, "kind">]: fc.Arbitrary<Extract<Happening, { kind: K }>[F]>;
  },
): OneKind {
  return { kind, arbitrary: fc.record({ kind: fc.constant(kind), ...fields }) as unknown as fc.Arbitrary<Happening> };
}

const happenings: readonly [weight: number, happening: OneKind][] = [
  [30, one("send", { pipeline, events: fc.array(event, { minLength: 1, maxLength: 6 }) })],
  [24, one("time passes", { milliseconds })],
  [12, one("insert meets", { pipeline, trouble: fc.nat({ max: 1_000_000 }), times: fc.integer({ min: 1, max: 3 }) })],
  [
    6,
    one("weather", {
      pipeline,
      inserts: fc.constantFrom(0, 1, 2, 4),
      others: fc.constantFrom(0, 2, 6),
      milliseconds: short,
    }),
  ],
  [4, one("server is killed", { pipeline, losesParts: fc.boolean(), milliseconds: short })],
  [3, one("constraint", { pipeline, isThere: fc.boolean() })],
  [3, one("other writer", { pipeline, blocks: fc.integer({ min: 1, max: 12 }) })],
  [3, one("network", { pipeline, is: fc.constantFrom("silent", "refusing"), milliseconds: short })],
  [3, one("connections are reset", { pipeline })],
  [6, one("process is killed", { milliseconds: short, isMended: fc.boolean() })],
  [
    6,
    one("process is killed at an insert", {
      pipeline,
      kth: fc.integer({ min: 1, max: 3 }),
      milliseconds: short,
      isMended: fc.boolean(),
    }),
  ],
  [3, one("power is lost", { milliseconds: short, isMended: fc.boolean() })],
  [2, one("process restarts", {})],
  [3, one("thread dies", {})],
  [
    4,
    one("disk fails", {
      call: fc.constantFrom<DiskCallName>(
        "open",
        "write",
        "datasync",
        "sync",
        "syncFolder",
        "rename",
        "truncate",
        "unlink",
        "read",
      ),
      kth: fc.integer({ min: 1, max: 8 }),
      code: fc.constantFrom("ENOSPC", "EIO", "EMFILE"),
      taken: fc.constantFrom("nothing", "part", "all"),
    }),
  ],
  [2, one("disk is full", { milliseconds: short })],
  [2, one("store fails", { code: fc.constantFrom("ENOSPC", "EIO") })],
  [2, one("clock steps", { by: fc.constantFrom(-7_200_000, -600_000, -5_000, 5_000, 600_000, 7_200_000) })],
  [
    2,
    one("machine stands still", {
      milliseconds: fc.constantFrom(5_000, 60_000, 900_000),
      monotonicStands: fc.boolean(),
    }),
  ],
  [4, one("edit", { pipeline })],
  [3, one("larger batches", { pipeline })],
  [3, one("option", { pipeline, on_uncertain: fc.constantFrom("insert", "skip", "pause") })],
  [2, one("secret changes", {})],
  [3, one("state", { pipeline, state: fc.constantFrom("Running", "Stopped", "Terminated") })],
  [2, one("file", { pipeline, isThere: fc.boolean() })],
  [3, one("reprocess", { pipeline })],
  [2, one("transaction is aborted", { pipeline, events: fc.array(event, { minLength: 1, maxLength: 4 }) })],
  [3, one("group rebalances", { pipeline })],
  [
    4,
    one("broker meets", {
      request: fc.constantFrom<BrokerRequest>(
        "Fetch",
        "ListOffsets",
        "Metadata",
        "OffsetCommit",
        "OffsetFetch",
        "JoinGroup",
        "Heartbeat",
      ),
      trouble: fc.constantFrom<BrokerTrouble>("not leader", "empty", "slow", "cut", "silent"),
    }),
  ],
  [2, one("broker is down", { milliseconds: short })],
  [1, one("topic is cut", { pipeline, by: fc.constantFrom("truncation", "retention", "deletion") })],
];

/** All kinds of things that happen. */
export const kinds: readonly Happening["kind"][] = happenings.map(([, { kind }]) => kind);

export const stories: fc.Arbitrary<Happening[]> = fc.array(
  fc.oneof(...happenings.map(([weight, { arbitrary }]) => ({ weight, arbitrary }))),
  { minLength: 6, maxLength: 24, size: "large" },
);

const pipelineShapes: fc.Arbitrary<PipelineShape> = fc.record({
  source: fc.constantFrom<PipelineShape["source"]>("webhook", "kafka"),
  hasDedup: fc.boolean(),
  hasStateless: fc.boolean(),
  replicas: fc.integer({ min: 1, max: 3 }),
  members: fc.integer({ min: 1, max: 2 }),
});

export const shapes: fc.Arbitrary<WorldShape> = fc.record({
  pipelines: fc.array(pipelineShapes, { minLength: 1, maxLength: 2 }),
  table: fc.constantFrom<WorldShape["table"]>("MergeTree", "ReplicatedMergeTree"),
  entries: fc.constantFrom(100, 10_000),
  threads: fc.integer({ min: 1, max: 2 }),
  seed: fc.nat(),
});

/** A story as a person reads it, a line for each thing that happens. */
export function told(shape: WorldShape, story: readonly Happening[]): string {
  return [JSON.stringify(shape), ...story.map((happening) => JSON.stringify(happening))].join("\n");
}
