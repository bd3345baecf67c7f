import * as fc from "fast-check";
import type { Fate } from "./ledger.ts";
import type { PipelineShape } from "./pipelines.ts";
import { profileNames, type TargetShape } from "./targets.ts";

/** What a world is made of. */
export interface WorldShape {
  pipelines: PipelineShape[];
  /** Threads that run the pipelines. */
  threads: number;
  /** Nodes of its Kafka. */
  brokers: number;
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
  /** The next inserts end in an error of the server after so many parts. */
  | { kind: "insert ends in an error"; pipeline: number; code: number; after: number; times: number }
  /** One of so many inserts, and of so many other statements, meets a trouble; 0: none. */
  | { kind: "weather"; pipeline: number; inserts: number; others: number; milliseconds: number }
  | { kind: "server is killed"; pipeline: number; losesParts: boolean; milliseconds: number }
  /** The server is killed while it writes the k-th part from now on, before it is there. */
  | { kind: "server is killed at an insert"; pipeline: number; kth: number; milliseconds: number }
  | { kind: "constraint"; pipeline: number; isThere: boolean }
  /** `skipped`: the file says that it is done without the view. */
  | { kind: "view"; pipeline: number; is: "broken" | "mended" | "dropped" | "skipped" }
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
  /** The pipeline goes to the other one of two Sluices, while this one runs on, or has just been killed. */
  | { kind: "another Sluice takes over"; pipeline: number; isKilled: boolean }
  | { kind: "topic loses events"; pipeline: number; by: "retention" | "deletion" }
  /** Of some partition; one that is not clean cuts its log, and other messages come to the same offsets. */
  | { kind: "leader is elected"; pipeline: number; isClean: boolean }
  /** Some partition has none for so long. */
  | { kind: "no leader"; pipeline: number; milliseconds: number; isClean: boolean }
  /** When all is mended and at rest, some partition has no leader: the others have to be read, whatever comes meanwhile. */
  | { kind: "others are led"; pipeline: number; meanwhile: Meanwhile }
  /** What a pipeline does about events that are lost. */
  | { kind: "loss is decided"; pipeline: number; on_lost: "pause" | "skip" }
  /** A consumer by the protocol of KIP-848 is in the group for so long, and commits. */
  | { kind: "another consumer"; pipeline: number; isReadable: boolean; isOld: boolean; milliseconds: number };

export type Meanwhile = "nothing" | "edit" | "rebalance" | "restart" | "kill";

type BrokerRequest = "Fetch" | "ListOffsets" | "Metadata" | "OffsetCommit" | "OffsetFetch" | "JoinGroup" | "Heartbeat";
type BrokerTrouble = "not leader" | "empty" | "slow" | "cut" | "silent";

type DiskCallName = "open" | "write" | "datasync" | "sync" | "syncFolder" | "rename" | "truncate" | "unlink" | "read";

const pipeline = fc.nat({ max: 2 });
const milliseconds = fc.constantFrom(1, 5, 20, 100, 500, 2_000, 10_000, 40_000, 300_000);
const short = fc.constantFrom(10, 200, 3_000, 20_000);
const meanwhile = fc.constantFrom<Meanwhile>("nothing", "edit", "rebalance", "restart", "kill");

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

const events = fc.array(event, { minLength: 1, maxLength: 6 });
/** Errors that come before the first part, and errors that may come after the last one. */
const setupErrors = fc.constantFrom(60, 516);
const lateErrors = fc.constantFrom(159, 394, 241, 999, 319);

const happenings: readonly [weight: number, happening: OneKind][] = [
  [30, one("send", { pipeline, events })],
  [24, one("time passes", { milliseconds })],
  [12, one("insert meets", { pipeline, trouble: fc.nat({ max: 1_000_000 }), times: fc.integer({ min: 1, max: 3 }) })],
  [
    4,
    one("insert ends in an error", {
      pipeline,
      code: lateErrors,
      after: fc.constantFrom(0, 1, 2, 9),
      times: fc.constantFrom(1, 1, 4),
    }),
  ],
  [2, one("view", { pipeline, is: fc.constantFrom("broken", "mended", "dropped", "skipped") })],
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
  [3, one("server is killed at an insert", { pipeline, kth: fc.integer({ min: 1, max: 3 }), milliseconds: short })],
  [3, one("constraint", { pipeline, isThere: fc.boolean() })],
  [3, one("other writer", { pipeline, blocks: fc.constantFrom(1, 5, 12, 60) })],
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
  [2, one("another Sluice takes over", { pipeline, isKilled: fc.boolean() })],
  [1, one("topic loses events", { pipeline, by: fc.constantFrom("retention", "deletion") })],
  [3, one("leader is elected", { pipeline, isClean: fc.boolean() })],
  [3, one("no leader", { pipeline, milliseconds: short, isClean: fc.constantFrom(true, true, false) })],
  [1, one("others are led", { pipeline, meanwhile })],
  [1, one("loss is decided", { pipeline, on_lost: fc.constantFrom("pause", "skip") })],
  [2, one("another consumer", { pipeline, isReadable: fc.boolean(), isOld: fc.boolean(), milliseconds: short })],
];

/** All kinds of things that happen. */
export const kinds: readonly Happening["kind"][] = happenings.map(([, { kind }]) => kind);

const any = fc.oneof(...happenings.map(([weight, { arbitrary }]) => ({ weight, arbitrary })));

const passing = (...times: number[]): fc.Arbitrary<Happening> =>
  fc.constantFrom(...times).map((time) => ({ kind: "time passes", milliseconds: time }));

const pass = passing(100, 250, 500, 2_000, 40_000);

/** What happens to one pipeline, in an order in which each finds what it needs, as single happenings seldom come so. */
function scenesOf(of: number): fc.Arbitrary<Happening[]> {
  const send = events.map((all): Happening => ({ kind: "send", pipeline: of, events: all }));
  const trouble = troubleOf(of);
  const afterwards = afterwardsOf(of);
  const others: Happening = { kind: "other writer", pipeline: of, blocks: 60 };
  const view = (is: "broken" | "mended" | "skipped"): Happening => ({ kind: "view", pipeline: of, is });
  return fc.oneof(
    // An answer that says little, and what comes between it and the repeat.
    fc.tuple(trouble, send, pass, afterwards, pass),
    // A server that dies within an insert, with others at its table afterwards or none.
    fc.tuple(deathOf(of), send, pass, fc.oneof(pass, afterwards), pass),
    // Refusals, or errors when all was written, after which another revision may make the batch.
    fc.tuple(
      fc.oneof(failing(of, setupErrors, 0), failing(of, lateErrors, 9)),
      send,
      passing(500, 1_000, 2_000),
      fc.constantFrom<Happening>({ kind: "edit", pipeline: of }, { kind: "larger batches", pipeline: of }),
      passing(40_000),
    ),
    fc.tuple(fc.constant(view("broken")), send, pass, fc.constantFrom(view("mended"), view("skipped"), others), pass),
    // A take-over while there is something to write, and what comes after it.
    fc.tuple(
      send,
      fc.boolean().map((isKilled): Happening => ({ kind: "another Sluice takes over", pipeline: of, isKilled })),
      passing(40_000),
      send,
      pass,
    ),
    electionOf(of, send),
    leaderlessOf(of, send),
    visitOf(of, send),
    // Keys that come again while their first event is under way.
    fc.tuple(trouble, send, send, pass, send),
    // Events whose letters are sent again when the table takes them.
    fc.tuple(
      send,
      pass,
      fc.constant<Happening>({ kind: "constraint", pipeline: of, isThere: false }),
      fc.constant<Happening>({ kind: "reprocess", pipeline: of }),
      pass,
    ),
  );
}

const beginningAnew = fc.constantFrom<Happening>(
  { kind: "process restarts" },
  { kind: "process is killed", milliseconds: 10, isMended: false },
  { kind: "process is killed", milliseconds: 3_000, isMended: false },
);

/** An election while Sluice reads, writes or does not run, after which others come to the offsets that were cut off. */
function electionOf(of: number, send: fc.Arbitrary<Happening>): fc.Arbitrary<Happening[]> {
  const elected = fc.constantFrom(true, false, false).map((isClean): Happening => {
    return { kind: "leader is elected", pipeline: of, isClean };
  });
  const decided = fc.constantFrom<"pause" | "skip">("pause", "skip", "skip").map((on_lost): Happening => {
    return { kind: "loss is decided", pipeline: of, on_lost };
  });
  const before = fc.oneof(pass, troubleOf(of), beginningAnew);
  return fc.tuple(decided, send, before, elected, send, fc.oneof(pass, beginningAnew, elected), send, pass);
}

/** A consumer that is in the group, and has committed, when Sluice starts; most of all one whose offsets look like a person's. */
function visitOf(of: number, send: fc.Arbitrary<Happening>): fc.Arbitrary<Happening[]> {
  const likePerson = { isReadable: false, isOld: true };
  const visit = fc
    .oneof(fc.constant(likePerson), fc.record({ isReadable: fc.boolean(), isOld: fc.boolean() }))
    .map((how): Happening => ({ kind: "another consumer", pipeline: of, milliseconds: 30_000, ...how }));
  return fc.tuple(send, visit, passing(10_000), send, beginningAnew, passing(10_000));
}

/** A partition that has no leader while Sluice starts, or the group is shared out anew, or the file is edited. */
function leaderlessOf(of: number, send: fc.Arbitrary<Happening>): fc.Arbitrary<Happening[]> {
  const unled = fc.boolean().map((isClean): Happening => {
    return { kind: "no leader", pipeline: of, milliseconds: 10_000, isClean };
  });
  const meanwhileOf = fc.oneof(
    beginningAnew,
    fc.constantFrom<Happening>({ kind: "group rebalances", pipeline: of }, { kind: "edit", pipeline: of }),
  );
  return fc.tuple(fc.oneof(send, troubleOf(of)), send, unled, send, meanwhileOf, pass, send);
}

function troubleOf(of: number): fc.Arbitrary<Happening> {
  return fc.oneof(
    fc.nat({ max: 1_000_000 }).map((drawn): Happening => {
      return { kind: "insert meets", pipeline: of, trouble: drawn, times: 1 };
    }),
    fc.tuple(lateErrors, fc.constantFrom(1, 9)).map(([code, after]): Happening => {
      return { kind: "insert ends in an error", pipeline: of, code, after, times: 1 };
    }),
  );
}

/** Inserts that end in the same error for some seconds, in which a person may edit the file. */
function failing(of: number, codes: fc.Arbitrary<number>, after: number): fc.Arbitrary<Happening> {
  return codes.map((code) => ({ kind: "insert ends in an error", pipeline: of, code, after, times: 4 }));
}

function deathOf(of: number): fc.Arbitrary<Happening> {
  return fc.constantFrom(1, 1, 2).map((kth): Happening => {
    return { kind: "server is killed at an insert", pipeline: of, kth, milliseconds: 10 };
  });
}

/** What may come between an insert without an answer and its repeat. */
function afterwardsOf(of: number): fc.Arbitrary<Happening> {
  const killed = short.map((time): Happening => {
    return { kind: "server is killed", pipeline: of, losesParts: false, milliseconds: time };
  });
  return fc.oneof(
    fc.constant<Happening>({ kind: "edit", pipeline: of }),
    fc.constant<Happening>({ kind: "larger batches", pipeline: of }),
    fc.constant<Happening>({ kind: "other writer", pipeline: of, blocks: 60 }),
    killed,
    pass,
    fc.constant<Happening>({ kind: "process is killed", milliseconds: 10, isMended: false }),
  );
}

const scenes = pipeline.chain(scenesOf);

/** Every pipeline gets events at once, so that no world is idle; then whatever happens. */
const beginnings: fc.Arbitrary<Happening[]> = fc
  .tuple(events, events)
  .map((all) => all.map((some, index): Happening => ({ kind: "send", pipeline: index, events: some })));

/** Of one in eight worlds: what has to go on when everything else is mended. */
const endings: fc.Arbitrary<Happening[]> = fc
  .tuple(fc.nat({ max: 7 }), pipeline, meanwhile)
  .map(([drawn, of, what]) => (drawn === 0 ? [{ kind: "others are led", pipeline: of, meanwhile: what }] : []));

export const stories: fc.Arbitrary<Happening[]> = fc
  .tuple(
    beginnings,
    fc.array(
      fc.oneof({ weight: 5, arbitrary: any.map((happening) => [happening]) }, { weight: 1, arbitrary: scenes }),
      {
        minLength: 3,
        maxLength: 12,
        size: "large",
      },
    ),
    endings,
  )
  .map(([beginning, rest, ending]) => [...beginning, ...rest.flat(), ...ending]);

const targetShapes: fc.Arbitrary<TargetShape> = fc.record({
  engine: fc.constantFrom<TargetShape["engine"]>("MergeTree", "ReplicatedMergeTree"),
  entries: fc.constantFrom(100, 10_000),
  isPartitioned: fc.boolean(),
  hasView: fc.boolean(),
  profile: fc.constantFrom("usual", "usual", "usual", ...profileNames),
  isAsync: fc.integer({ min: 0, max: 11 }).map((drawn) => drawn === 0),
});

const pipelineShapes: fc.Arbitrary<PipelineShape> = fc.record({
  source: fc.constantFrom<PipelineShape["source"]>("webhook", "webhook", "kafka", "kafka", "otlp", "join"),
  target: targetShapes,
  hasDedup: fc.boolean(),
  hasStateless: fc.boolean(),
  replicas: fc.integer({ min: 1, max: 3 }),
  members: fc.integer({ min: 1, max: 2 }),
});

export const shapes: fc.Arbitrary<WorldShape> = fc.record({
  pipelines: fc.array(pipelineShapes, { minLength: 1, maxLength: 2 }),
  threads: fc.integer({ min: 1, max: 2 }),
  brokers: fc.integer({ min: 1, max: 2 }),
  seed: fc.nat(),
});

/** A story as a person reads it, a line for each thing that happens. */
export function told(shape: WorldShape, story: readonly Happening[]): string {
  return [JSON.stringify(shape), ...story.map((happening) => JSON.stringify(happening))].join("\n");
}
