import { beforeEach, describe, expect, test } from "vitest";
import { consumerGroup, type Pause, type PipelineHealth } from "../../../engine/index.ts";
import type { Outcome } from "../../../reconciler/apply/outcome.ts";
import type { Change } from "../../../reconciler/plan/change.ts";
import { conditionsOf } from "../../../reconciler/status/conditions.ts";
import type { Condition, Observation } from "../../../reconciler/status/conditions.ts";
import { ModelEngine } from "../../support/model-engine.ts";
import { changeFor, read } from "../plan/world.ts";

const orders = { id: "orders" };
const { config, options } = read(orders);
const ofTopic = read({ ...orders, topic: "shop.orders" });
const inSync = changeFor({ wanted: [orders], there: [{ was: orders }] });
let engine: ModelEngine;

beforeEach(() => {
  engine = new ModelEngine();
  engine.put(config, options, "Running");
});

/** Conditions of the running pipeline as the engine tells it now. */
function conditions(of: Partial<Observation> = {}): Condition[] {
  return conditionsOf({ change: inSync, busy: false, wished: "Running", health: engine.health("orders"), ...of });
}

const brief = (told: Condition[]): string[] => told.map(({ type, status, reason }) => `${type} ${status} ${reason}`);

/** Every class that the engine pauses for. */
const reasons: Record<Pause["class"], string> = {
  transient: "PausedTransient",
  row: "PausedRow",
  partitions: "PausedPartitions",
  view: "PausedView",
  setup: "PausedSetup",
  disk: "PausedDisk",
  probe: "PausedProbe",
  uncertain: "PausedUncertain",
  lost: "PausedLost",
  storage: "PausedStorage",
  source: "PausedSource",
  owner: "PausedOwner",
  thread: "PausedThread",
  letters: "PausedLetters",
};

describe("a pipeline that runs", () => {
  test("is Ready", () => {
    expect(brief(conditions())).toEqual(["Ready True ReconciliationSucceeded"]);
  });

  test.each(Object.entries(reasons))("and is paused (%s) is not Ready: %s", (kind, reason) => {
    const paused = { class: kind as Pause["class"], since: "", text: "it cannot write", way_out: "mend it" };
    engine.change("orders", { paused });
    expect(conditions()).toEqual([{ type: "Ready", status: "False", reason, message: "it cannot write. mend it" }]);
  });

  test("and whose target cannot drop repeats is Ready, and says so", () => {
    const why = "run ALTER TABLE orders MODIFY SETTING non_replicated_deduplication_window = 10000";
    engine.change("orders", { at_least_once: why });
    expect(conditions()).toEqual([
      expect.objectContaining({ type: "Ready", status: "True" }),
      { type: "AtLeastOnce", status: "True", reason: "TargetCannotDeduplicate", message: why },
    ]);
  });

  test("and whose user has settings that may change rows is Ready, and names them", () => {
    const why = "the settings profile of user u has join_use_nulls = 1";
    engine.change("orders", { profile_remark: why });
    expect(conditions()).toEqual([
      expect.objectContaining({ type: "Ready", status: "True" }),
      { type: "ProfileSettings", status: "True", reason: "SettingsMayChangeRows", message: why },
    ]);
  });

  test("and whose target cannot drop repeats says so beside whatever else there is to say", () => {
    engine.change("orders", { at_least_once: "no window", paused: undefined });
    const refused = changeFor({
      wanted: [{ ...orders, root: ["resources: { nats: { stream: { max_age: 48h } } }"] }],
      there: [{ was: orders }],
    });
    expect(brief(conditions({ change: refused }))).toEqual([
      "Ready False ImmutableField",
      "Stalled True ImmutableField",
      "AtLeastOnce True TargetCannotDeduplicate",
    ]);
  });
});

const names = (count: number) => Array.from({ length: count }, (_, n) => `app-${n}`);
const toldOf = (foreign_members: string[]): Condition | undefined => {
  engine.put(ofTopic.config, ofTopic.options, "Running");
  engine.change("orders", { foreign_members, source: { partitions: 1, uncommitted: 0 } });
  return conditions().find(({ type }) => type === "ForeignMembers");
};

describe("a pipeline that reads a topic", () => {
  test.each<[string, { source: PipelineHealth["source"] }, Condition["status"], string]>([
    ["has reached no broker yet", { source: undefined }, "Unknown", "it runs, and reads no partition yet"],
    [
      "has no partition",
      { source: { partitions: 0, uncommitted: 0 } },
      "Unknown",
      "it runs, and reads no partition yet",
    ],
    ["reads some", { source: { partitions: 1, uncommitted: 0 } }, "True", "it runs"],
  ])("that %s", (_title, facts, status, message) => {
    engine.put(ofTopic.config, ofTopic.options, "Running");
    engine.change("orders", facts);
    expect(conditions().find(({ type }) => type === "Ready")).toMatchObject({ status, message });
  });
});

describe("a pipeline whose consumer group has members that are not Sluice", () => {
  test("is Ready, and names them and what follows", () => {
    expect(toldOf(["kafka-console-consumer"])).toEqual({
      type: "ForeignMembers",
      status: "True",
      reason: "NotSluice",
      message:
        `consumer group ${consumerGroup("orders")} has members that are not Sluice, whose partitions are not read here: ` +
        "kafka-console-consumer. Give them a group of their own",
    });
    expect(brief(conditions())).toEqual(["Ready True ReconciliationSucceeded", "ForeignMembers True NotSluice"]);
  });

  test("names no more than five, shortened and without control characters", () => {
    expect(toldOf(names(9))?.message).toContain("app-0, app-1, app-2, app-3, app-4, and 4 more. ");
    expect(toldOf([`\u001b[2J${"x".repeat(10_000)}`])?.message).toMatch(/here: \\u001b\[2Jx{50,60}…\. /);
  });

  test("says nothing when they are gone", () => {
    expect(toldOf([])).toBeUndefined();
  });
});

const open = { topic: "shop.orders", partition: 3, offset: 41, since: "2026-01-02T03:04:05.000Z" };
const openIn = (...open_transactions: (typeof open)[]): Condition | undefined => {
  engine.change("orders", { source: { partitions: 6, uncommitted: 0, lag: 0, open_transactions } });
  return conditions().find(({ type }) => type === "OpenTransaction");
};

describe("a pipeline that cannot read on behind an open transaction", () => {
  test("names its partition and its begin, and how to end it, and is Ready all the same", () => {
    const told = openIn(open);
    expect(told).toMatchObject({ status: "True", reason: "NotEnded" });
    expect(told?.message).toContain(
      "open in partition 3 of topic shop.orders since 2026-01-02T03:04:05.000Z: what comes from offset 41",
    );
    expect(told?.message).toContain(
      "If its producer is gone, find it with kafka-transactions.sh --bootstrap-server HOST:PORT describe-producers --topic shop.orders " +
        "--partition 3, as the one whose CurrentTransactionStartOffset is 41, and end it with ",
    );
    expect(told?.message).toContain("abort --topic shop.orders --partition 3 --start-offset 41");
    expect(brief(conditions())[0]).toBe("Ready True ReconciliationSucceeded");
  });

  test("says how many there are, and nothing where there is none", () => {
    expect(openIn(open, { ...open, partition: 4 })?.message).toContain(", and others in 1 more partition: what");
    expect(openIn()).toBeUndefined();
  });
});

const throttled = (...brokers: number[]): Condition | undefined => {
  const throttled_by = brokers.map((broker) => ({ broker, seconds: 40 }));
  engine.change("orders", { source: { partitions: 6, uncommitted: 0, lag: 0, throttled_by } });
  return conditions().find(({ type }) => type === "Throttled");
};

describe("a pipeline that a client quota keeps from reading", () => {
  test("names the brokers and where the quota is, and is Ready all the same", () => {
    const told = throttled(2);
    expect(told).toMatchObject({ status: "True", reason: "ClientQuota" });
    expect(told?.message).toMatch(/^broker 2 throttles what the pipeline reads, by a client quota/);
    expect(told?.message).toContain("--describe --entity-type clients, and --entity-type users");
    expect(brief(conditions())[0]).toBe("Ready True ReconciliationSucceeded");
    expect(throttled(3, 1)?.message).toMatch(/^brokers 1, 3 throttle /);
  });

  test("says nothing when it reads freely", () => {
    expect(throttled()).toBeUndefined();
  });
});

const side = (events: number) => ({ events, bytes: 100 * events });

const briefOf = (left: number, right: number, counters: Partial<PipelineHealth["counters"]> = {}): string[] => {
  const join = { left: side(left), right: side(right), waiting: 0, memory: 0, storage: 0 };
  const health = engine.health("orders");
  return brief(conditions({ health: { ...health, join, counters: { ...health.counters, ...counters } } }));
};

test("a pipeline whose senders are refused says why, and is Ready all the same", () => {
  const refused_senders = {
    reason: "disk_full",
    count: 40,
    since: "2026-01-02T03:04:05.000Z",
    text: "make room",
  } as const;
  expect(conditions({ health: { ...engine.health("orders"), refused_senders } })).toEqual([
    expect.objectContaining({ type: "Ready", status: "True" }),
    {
      type: "SendersRefused",
      status: "True",
      reason: "DiskFull",
      message: "40 requests of senders were refused since 2026-01-02T03:04:05.000Z: make room",
    },
  ]);
});

describe("a pipeline with a join", () => {
  const ready = "Ready True ReconciliationSucceeded";

  type Given = Parameters<typeof briefOf>;

  test.each<[string, Given, string[]]>([
    ["is Ready before the first event", [0, 0], [ready]],
    ["whose right side alone has events says nothing", [0, 7], [ready]],
    ["without right events says so", [7, 0], [ready, "Unmatched True NoRightEvents"]],
    ["whose left events are gone says so", [0, 0, { left_unmatched: 7 }], [ready, "Unmatched True NoRightEvents"]],
    ["whose left events wait says nothing", [7, 7], [ready]],
    ["without matches says so", [0, 7, { left_unmatched: 7 }], [ready, "Unmatched True NoMatches"]],
    ["with one match of a hundred says nothing", [0, 7, { left_unmatched: 99, rows_joined: 1 }], [ready]],
    ["with fewer says so", [0, 7, { left_unmatched: 100, rows_joined: 1 }], [ready, "Unmatched True NoMatches"]],
  ])("%s", (_title, given, expected) => {
    expect(briefOf(...given)).toEqual(expected);
  });

  test("that is stopped says nothing", () => {
    engine.change("orders", { status: "Stopped" });
    expect(briefOf(7, 0).filter((told) => told.startsWith("Unmatched"))).toEqual([]);
  });
});

const message = (told: Condition[]): string | undefined => told.find(({ type }) => type === "Reconciling")?.message;

describe("a pipeline that is being stopped", () => {
  const edit: Change = changeFor({ wanted: [{ ...orders, expression: "id > 1" }], there: [{ was: orders }] });
  const underWay: Outcome = { pipeline_id: "orders", kind: "update", result: "under way" };

  test.each([
    [0, ["Ready Unknown Progressing", "Reconciling True Progressing"], "a change is under way: stop, update, resume"],
    [
      1,
      ["Ready Unknown PendingBatch", "Reconciling True PendingBatch"],
      "a change is under way: stop, update, resume; it stops after 1 prepared batch",
    ],
    [
      2,
      ["Ready Unknown PendingBatch", "Reconciling True PendingBatch"],
      "a change is under way: stop, update, resume; it stops after 2 prepared batches",
    ],
  ])("with %i pending batches", (pending, told, said) => {
    engine.change("orders", { status: "Stopping", pending });
    expect(brief(conditions({ change: edit, busy: true }))).toEqual(told);
    expect(message(conditions({ change: edit, outcome: underWay }))).toBe(said);
  });

  test("and is paused says why it waits", () => {
    const paused = { class: "setup", since: "", text: "table orders is missing", way_out: "" } as const;
    engine.change("orders", { status: "Stopping", pending: 2, paused });
    expect(message(conditions({ change: edit, busy: true }))).toMatch(/2 prepared batches: table orders is missing$/);
  });

  test("by nobody here says so too", () => {
    engine.change("orders", { status: "Stopping", pending: 2 });
    const change = changeFor({ wanted: [orders], there: [{ was: orders, status: "Stopping" }] });
    expect(brief(conditions({ change }))[1]).toBe("Reconciling True PendingBatch");
  });
});

test.each(["EventsHeld", "DeadLettersHeld"] as const)(
  "a deletion that is held back waits for a person: %s",
  (cause) => {
    const change = changeFor({ wanted: [{ id: "other" }], there: [{ was: orders }] });
    const outcome: Outcome = { pipeline_id: "orders", kind: "delete", result: "held", cause, message: "it holds 3" };
    expect(conditions({ change, outcome })).toEqual([
      { type: "Ready", status: "False", reason: cause, message: "it holds 3" },
      { type: "Stalled", status: "True", reason: cause, message: "it holds 3" },
    ]);
  },
);
