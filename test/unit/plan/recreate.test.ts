import { describe, expect, test } from "vitest";
import { consumerGroup } from "../../../engine/index.ts";
import { wishOf } from "../../../reconciler/desired/fingerprint.ts";
import type { PipelineText } from "../../support/pipeline-text.ts";
import { changeFor, read, type Expected, type There, type World } from "./world.ts";

const stream = (limits: string): string[] => [`resources: { nats: { stream: { ${limits} } } }`];
const orders: PipelineText = { id: "orders", root: stream("max_age: 24h") };
const wished: PipelineText = { id: "orders", root: stream("max_age: 72h"), sluice: ["recreate: true"] };
const keyed = (size: string): PipelineText => ({
  id: "orders",
  topic: "shop.orders",
  transforms: ["{ type: dedup, source_id: input, config: { key: id, time_window: 1h } }"],
  root: [`resources: { transform: [{ source_id: input, storage: { size: ${size} } }] }`],
});
const head = "resources.nats.stream.max_age cannot change after creation, and x-sluice.recreate is true";
const token = "its access token (sluice token rotate orders prints a new one)";

describe("a refused change", () => {
  test.each<[string, PipelineText, PipelineText, string]>([
    ["of a webhook", { ...wished, sluice: [] }, orders, "without its dead letters and its access token"],
    [
      "of a webhook whose token is brought",
      { ...wished, sluice: ["access_token: ${env:T}"] },
      { ...orders, sluice: ["access_token: ${env:T}"] },
      "without its dead letters",
    ],
    ["of a dedup", keyed("20Gi"), keyed("10Gi"), "without its dead letters and what dedup remembers"],
  ])("%s names recreate as a way out, and what it costs", (_title, wanted, was, without) => {
    const change = changeFor({ wanted: [wanted], there: [{ was, dead_letters: 7, keys: 9 }] });
    expect(change).toMatchObject({ kind: "refuse", cause: "ImmutableField", calls: [] });
    const way = "set x-sluice.recreate: true, which writes what was accepted and recreates the pipeline";
    expect(change.reason.endsWith(`; or ${way}, ${without}`)).toBe(true);
  });

  test("of a pipeline that reads a topic says that another pipeline_id reads it by itself", () => {
    expect(changeFor({ wanted: [keyed("20Gi")], there: [{ was: keyed("10Gi") }] }).reason).toContain(
      "another pipeline_id, which reads its topic in a consumer group of its own;",
    );
  });
});

describe("a refused change with recreate", () => {
  test.each<[string, Omit<There, "was">, Expected]>([
    [
      "writes what was accepted, and says what is lost",
      { held: 3, pending_batches: 1, dead_letters: 2 },
      {
        kind: "recreate",
        cause: "Changed",
        effect: "refuse",
        calls: ["stop", "delete", "create"],
        loses: { dead_letters: 2 },
        reason: `${head}: the pipeline is recreated; 3 accepted events and 1 pending batch are written first; lost: 2 dead letters, ${token}`,
      },
    ],
    ["of a pipeline at rest", { status: "Stopped" }, { kind: "recreate", calls: ["stop", "delete", "create"] }],
    [
      "of a pipeline at rest that holds events",
      { status: "Stopped", held: 3 },
      { kind: "recreate", calls: ["resume", "stop", "delete", "create"] },
    ],
    ["of a failed pipeline", { status: "Failed" }, { kind: "recreate", calls: ["stop", "delete", "create"] }],
    ["of a terminated pipeline", { status: "Terminated" }, { kind: "recreate", calls: ["delete", "create"] }],
    [
      "of a terminated pipeline whose batches are not settled, which a termination keeps",
      { status: "Terminated", pending_batches: 1 },
      { kind: "recreate", calls: ["resume", "stop", "delete", "create"] },
    ],
    [
      "waits for a pipeline that is stopping",
      { status: "Stopping" },
      { kind: "no-op", cause: "InTransition", calls: [] },
    ],
    [
      "waits while what was accepted is written",
      { intake: "closed", held: 3, dead_letters: 1 },
      {
        kind: "no-op",
        cause: "InTransition",
        reason: `${head}: it takes no new events, and is recreated when it has written 3 accepted events`,
      },
    ],
    [
      "goes on when all is written, whatever letters there are",
      { intake: "closed", dead_letters: 4 },
      { kind: "recreate", calls: ["stop", "delete", "create"], loses: { dead_letters: 4 } },
    ],
    [
      "goes on at rest where nothing is held",
      { intake: "closed", status: "Stopped" },
      { kind: "recreate", calls: ["delete", "create"] },
    ],
    [
      "waits for a person while it cannot write, and says what is held, why, and the ways out",
      { intake: "closed", held: 3, pending_batches: 1, dead_letters: 2, paused: "table orders is missing" },
      {
        kind: "refuse",
        cause: "EventsHeld",
        calls: [],
        reason:
          `${head}: it takes no new events, and is recreated automatically when nothing of this is left: 3 accepted events and ` +
          "1 pending batch. It cannot write: table orders is missing. Ways out: resolve what it waits for; or restore the old " +
          "value: the rest of the file is then applied, and it goes on as it was",
      },
    ],
    [
      "waits for a person where it failed with what it holds",
      { intake: "closed", status: "Failed", held: 3, failure: "secret ${env:P} is not set" },
      {
        kind: "refuse",
        cause: "EventsHeld",
        reason: expect.stringMatching(/It cannot write: secret .* is not set\. Ways out: restore the old value/),
      },
    ],
  ])("%s", (_title, there, expected) => {
    expect(changeFor({ wanted: [wished], there: [{ was: orders, ...there }] })).toMatchObject(expected);
  });

  test.each<[string, string, string[]]>([
    ["Stopped", "Running", ["stop", "delete", "create", "stop"]],
    ["Terminated", "Running", ["stop", "delete", "create", "terminate"]],
  ])("ends in the state that is wished for: %s", (state, status, calls) => {
    const wanted = { ...wished, sluice: ["recreate: true", `state: ${state}`] };
    expect(changeFor({ wanted: [wanted], there: [{ was: orders, status: status as "Running" }] }).calls).toEqual(calls);
  });

  test("shows what falls back to its default, as a pipeline made from the file alone has it", () => {
    const was = { id: "orders", root: stream("max_age: 24h, max_bytes: 1Gi") };
    expect(changeFor({ wanted: [wished], there: [{ was }] }).fields).toEqual([
      { path: "resources.nats.stream.max_age", effect: "refuse", events: "same", from: "24h0m0s", to: "72h0m0s" },
      { path: "resources.nats.stream.max_bytes", effect: "refuse", events: "same", from: "1Gi", to: "0" },
    ]);
  });

  test("keeps the consumer group, and says what dedup forgets", () => {
    const wanted = { ...keyed("20Gi"), sluice: ["recreate: true"] };
    const change = changeFor({ wanted: [wanted], there: [{ was: keyed("10Gi"), keys: 12, pending_batches: 2 }] });
    expect(change).toMatchObject({ kind: "recreate", calls: ["stop", "delete", "create"] });
    expect(change.reason).toBe(
      "resources.transform[input].storage.size cannot change after creation, and x-sluice.recreate is true: the pipeline " +
        "is recreated; 2 pending batches are written first; lost: what dedup remembers (12 keys); the consumer group " +
        `${consumerGroup("orders")} is kept, and reading continues from its committed offsets`,
    );
  });

  test.each<[string, Omit<There, "was">, Expected]>([
    [
      "is waited for until that was told",
      { intake: "closed", uncommitted: 7, paused: "no broker answers" },
      {
        kind: "refuse",
        cause: "GroupBehind",
        reason: expect.stringMatching(
          /: it is recreated automatically when nothing of this is left: 7 offsets that are not committed to its consumer group\. It cannot commit: no broker answers\. Ways out: resolve what it waits for; or restore the old value:/,
        ),
      },
    ],
    [
      "that is at rest is resumed to tell it",
      { status: "Stopped", uncommitted: 7 },
      { calls: ["resume", "stop", "delete", "create"] },
    ],
    [
      "that is terminated is resumed to tell it",
      { status: "Terminated", uncommitted: "unknown" },
      { calls: ["resume", "stop", "delete", "create"] },
    ],
    ["that knows all", { status: "Terminated" }, { calls: ["delete", "create"] }],
  ])("never leaves the consumer group behind: a pipeline %s", (_title, there, expected) => {
    const wanted = { ...keyed("20Gi"), sluice: ["recreate: true"] };
    expect(changeFor({ wanted: [wanted], there: [{ was: keyed("10Gi"), ...there }] })).toMatchObject(expected);
  });

  test("says where another topic is read from", () => {
    const wanted = { ...keyed("20Gi"), topic: "shop.sales", sluice: ["recreate: true"] };
    expect(changeFor({ wanted: [wanted], there: [{ was: keyed("10Gi") }] }).reason).toMatch(
      /; topic shop\.sales is read from its beginning, unless the consumer group /,
    );
  });

  test.each<[string, World, Expected]>([
    [
      "left in the file does nothing when the pipeline is as the file says",
      { wanted: [wished], there: [{ was: wished }] },
      { kind: "no-op", cause: "InSync", calls: [] },
    ],
    [
      "left in the file makes nothing anew for a change that can be made",
      { wanted: [{ ...wished, expression: "id > 1" }], there: [{ was: wished }] },
      { kind: "update", effect: "restart", calls: ["stop", "update", "resume"] },
    ],
    [
      "does not touch what somebody else made",
      { wanted: [wished], there: [{ was: orders, owned: null }] },
      { kind: "refuse", cause: "NotAdopted" },
    ],
    [
      "does not touch what is suspended",
      { wanted: [{ ...wished, sluice: ["recreate: true", "suspend: true"] }], there: [{ was: orders }] },
      { kind: "no-op", cause: "Suspended" },
    ],
    [
      "waits for another pipeline",
      { wanted: [{ ...wished, sluice: ["recreate: true", "depends_on: [zebra]"] }], there: [{ was: orders }] },
      { kind: "no-op", cause: "DependencyNotReady", calls: [] },
    ],
    [
      "that is taken back lets the pipeline take events again",
      { wanted: [orders], there: [{ was: orders, intake: "closed" }] },
      { kind: "resume", calls: ["stop", "resume"] },
    ],
    [
      "is made where no pipeline is left of it, as after a crash",
      { wanted: [wished] },
      { kind: "create", calls: ["create"] },
    ],
  ])("%s", (_title, world, expected) => {
    expect(changeFor(world)).toMatchObject(expected);
  });
});

describe("another kind of source", () => {
  const webhook: PipelineText = { id: "orders" };
  const kafka: PipelineText = { id: "orders", topic: "shop.orders" };

  test.each([
    ["webhook", "kafka", webhook, kafka],
    ["kafka", "webhook", kafka, webhook],
  ])("is refused: %s to %s", (from, to, was, wanted) => {
    const change = changeFor({ wanted: [wanted], there: [{ was }] });
    expect(change).toMatchObject({ kind: "refuse", cause: "ImmutableField", effect: "refuse", line: 4, column: 11 });
    expect(change.reason).toMatch(
      new RegExp(`^sources\\[0\\]\\.type cannot change after creation, and was changed from "${from}" to "${to}"`),
    );
    expect(change.fields[0]).toEqual({ path: "sources[0].type", effect: "refuse", events: "same", from, to });
  });

  test.each<[string, PipelineText, PipelineText, RegExp]>([
    [
      "what the webhook accepted is written, and its token is no more",
      webhook,
      kafka,
      /recreated; 3 accepted events are written first; lost: its access token; topic shop\.orders is read from its beginning/,
    ],
    [
      "the consumer group stays",
      kafka,
      webhook,
      /recreated; 3 accepted events are written first; consumer group \S+ keeps its committed offsets of topic shop\.orders/,
    ],
  ])("is made anew: %s", (_title, was, wanted, reason) => {
    const change = changeFor({ wanted: [{ ...wanted, sluice: ["recreate: true"] }], there: [{ was, held: 3 }] });
    expect(change).toMatchObject({ kind: "recreate", calls: ["stop", "delete", "create"] });
    expect(change.reason).toMatch(reason);
  });
});

describe("a recreation under way that still waits for its stop", () => {
  const busy = { orders: { wish: wishOf(read(wished)), isStopping: true, isEnding: true as const } };
  const there: There[] = [{ was: orders, status: "Stopping" }];

  test.each<[string, World, Expected]>([
    ["goes on where its file says the same", { wanted: [wished] }, { cause: "InProgress", calls: [] }],
    [
      "is replaced where the old value is back: the pipeline takes events again",
      { wanted: [orders] },
      { replaces: true, kind: "resume", calls: ["resume"] },
    ],
    [
      "is replaced by a change that can be made",
      { wanted: [{ ...orders, expression: "id > 1" }] },
      { replaces: true, kind: "update", calls: ["update", "resume"] },
    ],
    [
      "is replaced by another recreation",
      { wanted: [{ ...wished, root: stream("max_age: 96h") }] },
      { replaces: true, kind: "recreate", calls: ["delete", "create"] },
    ],
    [
      "is replaced where the pipeline should be Stopped after all: it takes events meanwhile",
      { wanted: [{ ...orders, sluice: ["state: Stopped"] }] },
      { replaces: true, kind: "stop", calls: ["resume", "stop"] },
    ],
    [
      "is replaced by the deletion where its file goes",
      { wanted: [{ id: "other" }] },
      { replaces: true, kind: "delete", calls: ["stop", "delete"] },
    ],
    [
      "is replaced where recreate is taken away: the pipeline goes on as it was",
      { wanted: [{ ...wished, sluice: [] }] },
      {
        replaces: true,
        kind: "resume",
        cause: "StateWished",
        calls: ["resume"],
        reason: expect.stringMatching(
          /^it goes on as it was, because the file no longer asks for its deletion: resources\.nats\.stream\.max_age cannot change/,
        ),
      },
    ],
    [
      "is replaced where recreate is taken away and the pipeline should be Terminated",
      { wanted: [{ ...wished, sluice: ["state: Terminated"] }] },
      { replaces: true, calls: ["terminate"] },
    ],
  ])("%s", (_title, world, expected) => {
    expect(changeFor({ there, busy, ...world })).toMatchObject(expected);
  });

  test("and so is a deletion, where the file is put back with a change that is refused", () => {
    const deleting = { orders: { isStopping: true, isEnding: true as const } };
    expect(changeFor({ there, busy: deleting, wanted: [{ ...wished, sluice: [] }] })).toMatchObject({
      replaces: true,
      kind: "resume",
      calls: ["resume"],
    });
  });
});
