import { describe, expect, test } from "vitest";
import { consumerGroup } from "../../../engine/index.ts";
import type { There } from "./world.ts";
import { changeFor, planFor, type Expected, type World } from "./world.ts";

const joined = (left?: string) => ({
  id: "orders",
  topic: "orders",
  topics: ["customers"],
  join: left === undefined ? {} : { left },
});
const union = { id: "orders", topic: "orders", topics: ["customers"] };
const recreated = { sluice: ["recreate: true"] };

/** What runs with a join that buffers events, and of which rows are not written. */
const there = (of: Partial<There> = {}): There => ({ was: joined(), join: { events: 12, rows: 3 }, ...of });

describe("an edit of a join", () => {
  test.each<[string, World, Expected]>([
    [
      "forgets with another key",
      { wanted: [joined("key: level, time_window: 1h")], there: [there()] },
      {
        kind: "update",
        effect: "restart",
        events: "forget",
        fields: [{ path: "join.left_source.key", effect: "restart", events: "forget", from: "id", to: "level" }],
        irreversible: [{ code: "JoinEvents", facts: { events: 12 } }],
      },
    ],
    [
      "forgets with another window",
      { wanted: [joined("key: id, time_window: 2h")], there: [there()] },
      { effect: "restart", events: "forget", irreversible: [{ code: "JoinEvents", facts: { events: 12 } }] },
    ],
    [
      "keeps what it buffers with the same window in other words",
      { wanted: [joined("key: id, time_window: 60m")], there: [there()] },
      { kind: "no-op", cause: "InSync" },
    ],
    [
      "keeps what it buffers with a larger batch",
      { wanted: [{ ...joined(), max_batch_size: 500 }], there: [there()] },
      { kind: "update", effect: "restart", events: "same", calls: ["stop", "update", "resume"] },
    ],
    [
      "forgets nothing of a dedup",
      {
        wanted: [
          {
            ...joined("key: level, time_window: 1h"),
            transforms: ["{ type: dedup, source_id: input, config: { key: id, time_window: 1h } }"],
          },
        ],
        there: [
          there({
            was: {
              ...joined(),
              transforms: ["{ type: dedup, source_id: input, config: { key: id, time_window: 1h } }"],
            },
            keys: 7,
          }),
        ],
      },
      { effect: "restart", events: "forget", irreversible: [{ code: "JoinEvents", facts: { events: 12 } }] },
    ],
  ])("%s", (_title, world, expected) => {
    expect(changeFor(world)).toMatchObject(expected);
  });
});

/** Its right topic is at other brokers. */
const two = (...brokers: string[]) => ({ ...joined(), join: { brokers } });
const written = { events: 12, rows: 0 };

describe("a join of two clusters", () => {
  const group = consumerGroup("orders");

  test("goes on in the one whose brokers are the same", () => {
    expect(
      changeFor({ wanted: [two("other:9092")], there: [there({ was: two("east:9092"), join: written })] }).reason,
    ).toBe(
      "sources[kafka of customers].connection_params.brokers changed; if the new brokers are another cluster, topic customers " +
        "is read there from its beginning, and x-sluice.on_lost decides about pending batches of the old one",
    );
  });

  test("begins a topic that is moved from one of them to the other", () => {
    const now = { ...two("east:9092"), topic: "sales" };
    const { reason } = changeFor({ wanted: [now], there: [there({ was: two("east:9092"), lag: 7, join: written })] });
    expect(reason).toBe(
      `sources[kafka of input].topic changed; topic sales is read from its beginning, unless the consumer group ${group} has ` +
        "offsets of it; what was not read yet of topic orders stays unread",
    );
  });

  test("is the same as of one where only the right side was elsewhere", () => {
    const { reason } = changeFor({ wanted: [joined()], there: [there({ was: two("east:9092"), join: written })] });
    expect(reason).toMatch(
      /; topic customers is read from its beginning, unless .* offsets of it; what was not read yet of topic customers stays unread$/,
    );
  });
});

describe("a new join", () => {
  const replays = [{ code: "JoinReplays", facts: { left: "orders", right: "customers" } }];

  test.each<[string, World, unknown]>([
    ["of two topics that are read from their beginning is a caution", { wanted: [joined()] }, replays],
    ["from a time is one", { wanted: [{ ...joined(), sluice: ['start: "2026-01-01T00:00:00Z"'] }] }, replays],
    [
      "whose left topic is read from its end is none",
      { wanted: [{ ...joined(), kafka: ["consumer_group_initial_offset: latest"] }] },
      undefined,
    ],
    ["from the end of both is none", { wanted: [{ ...joined(), sluice: ["start: latest"] }] }, undefined],
  ])("%s", (_title, world, cautions) => {
    expect(changeFor(world)).toMatchObject({ kind: "create" });
    expect(changeFor(world).cautions).toEqual(cautions);
  });

  test("says what to do instead", () => {
    const { warnings } = changeFor({ wanted: [joined()] });
    expect(warnings).toEqual([
      "topics orders and customers are both read from their past, and a join is by arrival: left events meet the right event that " +
        "was read before them, or wait for one as long as their window. Read the left topic from its end, or after the right side is " +
        "loaded",
    ]);
  });
});

describe("a join that a pipeline did not have, or no longer has", () => {
  test.each<[string, World, unknown, unknown]>([
    ["is refused where it is added", { wanted: [joined()], there: [{ was: union }] }, false, true],
    ["is refused where it is removed", { wanted: [union], there: [there()] }, true, false],
    [
      "is refused where it is disabled",
      { wanted: [{ ...union, root: ["join: { enabled: false }"] }], there: [there()] },
      true,
      false,
    ],
  ])("%s", (_title, world, from, to) => {
    const change = changeFor(world);
    expect(change).toMatchObject({ kind: "refuse", cause: "ImmutableField" });
    expect(change.fields).toContainEqual({ path: "join.enabled", effect: "refuse", events: "same", from, to });
    expect(change.reason).toContain("x-sluice.recreate: true");
  });

  test("recreates the pipeline where the file asks for it, after its rows are written", () => {
    const change = changeFor({ wanted: [{ ...union, ...recreated }], there: [there()] });
    expect(change).toMatchObject({ kind: "recreate", irreversible: [{ code: "JoinEvents", facts: { events: 12 } }] });
    expect(change.reason).toContain("3 joined rows are written first");
    expect(change.reason).toContain("lost: what its join buffers (12 events)");
  });
});

describe("the end of a pipeline with a join", () => {
  const other = { id: "audit" };
  const removed = (of: Partial<There>): World => ({ wanted: [other], there: [there(of), { was: other }] });

  test("loses what it buffers, and no row", () => {
    const change = changeFor(removed({}));
    expect(change).toMatchObject({
      kind: "delete",
      calls: ["stop", "delete"],
      irreversible: [{ code: "JoinEvents", facts: { events: 12 } }],
    });
    expect(change.reason).toContain("3 joined rows are written first");
  });

  test("writes the rows of a stopped one first", () => {
    const stopped = { status: "Stopped", intake: "closed" } as const;
    expect(changeFor(removed(stopped))).toMatchObject({ calls: ["resume", "stop", "delete"] });
    expect(changeFor(removed({ ...stopped, join: { events: 0, rows: 0 } }))).toMatchObject({ calls: ["delete"] });
  });

  test("takes rows for there where the join was not opened since the start", () => {
    const { join: _join, ...unknown } = there({ status: "Stopped", intake: "closed" });
    const { changes } = planFor({ wanted: [other], there: [unknown, { was: other }] });
    expect(changes.find(({ pipeline_id }) => pipeline_id === "orders")).toMatchObject({
      calls: ["resume", "stop", "delete"],
    });
  });

  test("waits for rows that the table does not take, and says so", () => {
    const paused = { intake: "closed", paused: "ClickHouse does not answer" } as const;
    const { reason } = changeFor(removed(paused));
    expect(reason).toContain("3 joined rows. It cannot write: ClickHouse does not answer");
  });

  test.each([
    ["and buffered events", { events: 12, rows: 3 }, ["JoinRows", "JoinEvents"]],
    ["where there is one", { events: 12, rows: 1 }, ["JoinRows", "JoinEvents"]],
    ["unless there is none", { events: 12, rows: 0 }, ["JoinEvents"]],
  ])("by x-sluice.state: Terminated drops rows as well, %s", (_title, join, losses) => {
    const wanted = { ...joined(), sluice: ["state: Terminated"] };
    const change = changeFor({ wanted: [wanted], there: [there({ join })] });
    const facts = { JoinRows: { rows: join.rows }, JoinEvents: { events: join.events } };
    const irreversible = losses.map((code) => ({ code, facts: facts[code as keyof typeof facts] }));
    expect(change).toMatchObject({ calls: ["terminate"], irreversible });
  });
});
