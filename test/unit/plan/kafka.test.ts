import { describe, expect, test } from "vitest";
import { consumerGroup } from "../../../engine/index.ts";
import { printPlan } from "../../../reconciler/plan/render/index.ts";
import { pipelineText, type PipelineText } from "../../support/pipeline-text.ts";
import { changeFor, planFor, type Expected, type There, type World } from "./world.ts";

const orders: PipelineText = { id: "orders", topic: "shop.orders" };
const group = consumerGroup("orders");
const adopted = (of: string): string => `sources: { input: { adopt_group: ${of} } }`;
const adopting = (of: string): Pick<PipelineText, "sluice"> => ({ sluice: [adopted(of)] });

describe("a new pipeline that reads a topic", () => {
  const unless = `unless the consumer group ${group} has offsets of it, from which it then continues`;

  test.each<[string, PipelineText, string]>([
    ["begins at the beginning", orders, `it is new; topic shop.orders is read from its beginning, ${unless}`],
    [
      "begins at the end where its source says so",
      { ...orders, kafka: ["consumer_group_initial_offset: latest"] },
      `it is new; topic shop.orders is read from its end (what it holds now is not read), ${unless}`,
    ],
    [
      "begins where start says, whatever its source says",
      { ...orders, kafka: ["consumer_group_initial_offset: latest"], sluice: ["start: earliest"] },
      `it is new; topic shop.orders is read from its beginning, ${unless}`,
    ],
    [
      "begins at a time",
      { ...orders, sluice: ["start: 2026-01-31T00:00:00Z", "state: Stopped"] },
      `it is new, and x-sluice.state is Stopped; topic shop.orders is read from what came at 2026-01-31T00:00:00Z or later, ${unless}`,
    ],
    [
      "begins where another group ends that it adopts",
      { ...orders, sluice: ["sources: { input: { adopt_group: loader } }", "consumer_group: data-team.orders"] },
      "it is new; topic shop.orders is read from the offsets of the consumer group loader (without one from its " +
        "beginning), unless the consumer group data-team.orders has offsets of it, from which it then continues",
    ],
  ])("%s", (_title, wanted, reason) => {
    const change = changeFor({ wanted: [wanted] });
    expect(change).toMatchObject({ kind: "create", reason });
    expect(change).not.toHaveProperty("warnings");
  });

  const fresh: PipelineText = { ...orders, id: "orders-new" };
  const shared: PipelineText = { ...fresh, table: "orders" };
  const latest = { kafka: ["consumer_group_initial_offset: latest"] };
  test.each<[string, World, string[] | undefined]>([
    [
      "into the table of one that goes on reading it",
      { wanted: [orders, shared], there: [{ was: orders }] },
      [
        "topic shop.orders, which orders reads, is read again from its beginning into the same table: what it has written and all new events are in that table twice",
      ],
    ],
    [
      "into the table of one that goes",
      { wanted: [shared], there: [{ was: orders }] },
      [
        "topic shop.orders, which orders has read, is read again from its beginning into the same table: what it has written is in that table twice",
      ],
    ],
    [
      "from its end, into the table of one that goes on reading it",
      { wanted: [orders, { ...shared, ...latest }], there: [{ was: orders }] },
      [
        "topic shop.orders, which orders reads, is read too into the same table: all new events are in that table twice",
      ],
    ],
    [
      "from its end, into the table of one that goes",
      { wanted: [{ ...shared, ...latest }], there: [{ was: orders }] },
      undefined,
    ],
    [
      "from where a group ends that it adopts, into the table of one that goes on reading it",
      { wanted: [orders, { ...shared, ...adopting("loader") }], there: [{ was: orders }] },
      [
        "topic shop.orders, which orders reads, is read from the offsets of the consumer group loader into the same table: what it has written from there on and all new events are in that table twice",
      ],
    ],
    [
      "from where a group ends that it adopts, into the table of one that goes",
      { wanted: [{ ...shared, ...latest, ...adopting("loader") }], there: [{ was: orders }] },
      [
        "topic shop.orders, which orders has read, is read from the offsets of the consumer group loader into the same table: what it has written from there on is in that table twice",
      ],
    ],
    [
      "from where the group of one ends that goes",
      { wanted: [{ ...shared, ...adopting(group) }], there: [{ was: orders }] },
      undefined,
    ],
    [
      "in the group of one that goes",
      { wanted: [{ ...shared, sluice: [`consumer_group: ${group}`] }], there: [{ was: orders }] },
      undefined,
    ],
    [
      "of the same name at other brokers",
      { wanted: [orders, { ...shared, brokers: ["elsewhere:9092"] }], there: [{ was: orders }] },
      undefined,
    ],
    [
      "that nobody else reads",
      { wanted: [orders, { ...shared, topic: "shop.returns" }], there: [{ was: orders }] },
      undefined,
    ],
  ])("warns of rows that stand twice: a topic %s", (_title, world, warnings) => {
    expect(changeFor(world, "orders-new").warnings).toEqual(warnings);
  });

  test("knows brokers by any address that they share", () => {
    const was = { ...orders, brokers: ["kafka-1:9092", "Kafka-2:9092"] };
    const wanted = { ...shared, brokers: ["kafka-2:9092", "kafka-3:9092"] };
    expect(changeFor({ wanted: [wanted], there: [{ was }] }, "orders-new").warnings).toHaveLength(1);
  });

  test("into another table says that the topic is read again", () => {
    const change = changeFor({ wanted: [orders, fresh], there: [{ was: orders }] }, "orders-new");
    expect(change).not.toHaveProperty("warnings");
    expect(change.reason).toMatch(
      /; topic shop\.orders, which orders reads, is read again from its beginning: rows are written twice, in two tables$/,
    );
  });

  test("prints its warnings", () => {
    const text = printPlan(planFor({ wanted: [shared], there: [{ was: orders }] }));
    expect(text).toMatch(/^orders-new {2}create .*\n {4}warning: topic shop\.orders, which orders has read, /m);
  });

  test("in the file of another one is refused, and told that the topic would be read again", () => {
    const world = { files: { "orders.yaml": pipelineText(fresh) }, there: [{ was: orders }] };
    expect(changeFor(world)).toMatchObject({
      cause: "IdChanged",
      reason: expect.stringMatching(/deletes orders: its topic is then read again, by another consumer group$/),
    });
  });
});

describe("a pipeline that reads a topic", () => {
  test.each<[string, World, Expected]>([
    [
      "is stopped, and the plan says what stays unread",
      { wanted: [{ ...orders, sluice: ["state: Stopped"] }], there: [{ was: orders, lag: 1234 }] },
      {
        kind: "stop",
        calls: ["stop"],
        reason: "it is Running, x-sluice.state is Stopped; 1234 offsets stay unread in topic shop.orders",
      },
    ],
    [
      "is terminated likewise",
      { wanted: [{ ...orders, sluice: ["state: Terminated"] }], there: [{ was: orders, lag: 1 }] },
      {
        kind: "terminate",
        reason: "it is Running, x-sluice.state is Terminated; 1 offset stays unread in topic shop.orders",
      },
    ],
    [
      "is stopped where it has read everything",
      { wanted: [{ ...orders, sluice: ["state: Stopped"] }], there: [{ was: orders, lag: 0 }] },
      { reason: "it is Running, x-sluice.state is Stopped" },
    ],
    [
      "reads another topic after a restart",
      { wanted: [{ ...orders, topic: "shop.sales" }], there: [{ was: orders, lag: 7 }] },
      {
        effect: "restart",
        calls: ["stop", "update", "resume"],
        reason:
          "sources[kafka of input].topic changed; topic shop.sales is read from its beginning, unless the consumer " +
          `group ${group} has offsets of it; what was not read yet of topic shop.orders (7 offsets) stays unread`,
      },
    ],
    [
      "reads it from where start says",
      { wanted: [{ ...orders, topic: "shop.sales", sluice: ["start: latest"] }], there: [{ was: orders }] },
      { reason: expect.stringContaining("; topic shop.sales is read from its end (what it holds now is not read), ") },
    ],
    [
      "asks other brokers after a restart",
      { wanted: [{ ...orders, brokers: ["other:9092"] }], there: [{ was: orders }] },
      {
        effect: "restart",
        reason:
          "sources[kafka of input].connection_params.brokers changed; if the new brokers are another cluster, topic " +
          "shop.orders is read there from its beginning, and x-sluice.on_lost decides about pending batches of the old one",
      },
    ],
    [
      "asks one broker more, of which nothing is to be said",
      { wanted: [{ ...orders, brokers: ["kafka:9092", "kafka-2:9092"] }], there: [{ was: orders }] },
      { effect: "restart", reason: "sources[kafka of input].connection_params.brokers changed" },
    ],
    [
      "may be told where its group begins, which counts only once",
      { wanted: [{ ...orders, kafka: ["consumer_group_initial_offset: latest"] }], there: [{ was: orders }] },
      {
        effect: "restart",
        reason:
          "sources[kafka of input].consumer_group_initial_offset changed; the start applies only to a topic of " +
          "which its consumer group has no offsets",
      },
    ],
    [
      "is told that while it runs, by start",
      { wanted: [{ ...orders, sluice: ["start: latest"] }], there: [{ was: orders }] },
      { effect: "hot", calls: ["configure"], reason: expect.stringContaining("applies only to a topic of which") },
    ],
    [
      "may be told later which group to adopt, which changes nothing any more",
      { wanted: [{ ...orders, sluice: ["sources: { input: { adopt_group: loader } }"] }], there: [{ was: orders }] },
      { effect: "restart", reason: expect.stringContaining("; the start applies only to a topic of which") },
    ],
    [
      "keeps the name of its group",
      { wanted: [{ ...orders, sluice: ["consumer_group: data-team.orders"] }], there: [{ was: orders }] },
      { kind: "refuse", cause: "ImmutableField", calls: [] },
    ],
    [
      "gets another group by a recreation, which begins as a new one does",
      {
        wanted: [{ ...orders, sluice: ["consumer_group: data-team.orders", "recreate: true"] }],
        there: [{ was: orders }],
      },
      {
        kind: "recreate",
        reason: expect.stringContaining(
          "is read from its beginning, unless the consumer group data-team.orders has offsets",
        ),
      },
    ],
    [
      "is told on_lost while it runs",
      { wanted: [{ ...orders, sluice: ["on_lost: skip"] }], there: [{ was: orders }] },
      { effect: "hot", calls: ["configure"], reason: "x-sluice.on_lost changed" },
    ],
    [
      "takes another run's place over while it runs, and the plan says what that gives up",
      { wanted: [{ ...orders, sluice: ['take_over: "7f3c0a1b"'] }], there: [{ was: orders }] },
      {
        effect: "hot",
        calls: ["configure"],
        reason:
          "x-sluice.take_over changed; it continues from the offsets that run 7f3c0a1b committed: pending batches that " +
          "begin below them are given up, and dedup does not know the events of that run",
      },
    ],
    [
      "has more members after a restart",
      {
        wanted: [{ ...orders, root: ["resources: { sources: [{ source_id: input, replicas: 3 }] }"] }],
        there: [{ was: orders }],
      },
      { effect: "restart", calls: ["stop", "update", "resume"], reason: "resources.sources[input].replicas changed" },
    ],
  ])("%s", (_title, world, expected) => {
    expect(changeFor(world)).toMatchObject(expected);
  });
});

/** The pipeline with another consumer group, and further settings. */
const renamed = (...sluice: string[]): PipelineText => ({ ...orders, sluice: ["consumer_group: data", ...sluice] });
const changed = (to: PipelineText): ReturnType<typeof changeFor> =>
  changeFor({ wanted: [to], there: [{ was: orders }] });

describe("a pipeline that gets another consumer group", () => {
  const unlessNamed = `unless x-sluice.sources.input.adopt_group names the former consumer group ${group}`;

  test.each<[string, PipelineText, string]>([
    [
      "again from its beginning",
      renamed(),
      `; topic shop.orders is then read again from its beginning, ${unlessNamed}`,
    ],
    [
      "from its end",
      renamed("start: latest"),
      `; topic shop.orders is then read from its end (what it holds now is not read), ${unlessNamed}`,
    ],
    [
      "from where another group ends",
      renamed(adopted("loader")),
      `; topic shop.orders is then read from the offsets of the consumer group loader, ${unlessNamed}`,
    ],
  ])("is refused, and told that a recreation reads its topic %s", (_title, to, end) => {
    const change = changed(to);
    expect(change).toMatchObject({ kind: "refuse", cause: "ImmutableField" });
    expect(change.reason.slice(change.reason.indexOf("; topic"))).toBe(end);
  });

  test("is refused without a word of its topic where it goes on where the former group ends", () => {
    const { kind, reason } = changed(renamed(adopted(group)));
    expect(kind).toBe("refuse");
    expect(reason).not.toContain("shop.orders");
  });

  test.each<[string, PipelineText, string[] | undefined]>([
    [
      "that are there",
      renamed("recreate: true"),
      [
        "topic shop.orders, which orders has read, is read again from its beginning into the same table: what it has written is in that table twice",
      ],
    ],
    [
      "that are there from where another group ends",
      renamed("recreate: true", adopted("loader")),
      [
        "topic shop.orders, which orders has read, is read from the offsets of the consumer group loader into the same table: what it has written from there on is in that table twice",
      ],
    ],
    [
      "that are there, unless it goes on where the former one ends",
      renamed("recreate: true", adopted(group)),
      undefined,
    ],
    ["that are there, unless it begins at the end", renamed("recreate: true", "start: latest"), undefined],
    [
      "that are there, unless it writes into another table",
      { ...renamed("recreate: true"), table: "sales" },
      undefined,
    ],
  ])("is recreated, and the plan warns of rows %s", (_title, to, warnings) => {
    const change = changed(to);
    expect(change.kind).toBe("recreate");
    expect(change.warnings).toEqual(warnings);
  });
});

describe("a pipeline that reads several topics", () => {
  const both: PipelineText = { ...orders, topics: ["shop.returns"] };
  const paused = { paused: "table orders is missing", pending_batches: 1 };
  const unless = `unless the consumer group ${group} has offsets of it`;

  test.each<[string, World, Expected]>([
    [
      "is new: each begins where it says",
      { wanted: [{ ...both, kafka: ["consumer_group_initial_offset: latest"] }] },
      {
        reason:
          `it is new; topic shop.orders is read from its end (what it holds now is not read), ${unless}, from ` +
          `which it then continues; topic shop.returns is read from its beginning, ${unless}, from which it then continues`,
      },
    ],
    [
      "gets one more after a restart, and goes on in the other",
      { wanted: [both], there: [{ was: orders, lag: 7 }] },
      {
        effect: "restart",
        calls: ["stop", "update", "resume"],
        reason: `sources[kafka of shop.returns] and 1 more changed; topic shop.returns is read from its beginning, ${unless}`,
      },
    ],
    [
      "loses one after a restart",
      { wanted: [orders], there: [{ was: both, lag: 7 }] },
      {
        effect: "restart",
        reason:
          "sources[kafka of shop.returns] and 1 more changed; what was not read yet of topic shop.returns stays unread",
      },
    ],
    [
      "loses one while it cannot write",
      { wanted: [orders], there: [{ was: both, ...paused }] },
      {
        effect: "restart",
        reason: expect.stringMatching(
          /; what was not read yet of topic shop\.returns stays unread, and events of a removed source in pending batches become dead letters$/,
        ),
      },
    ],
    [
      "reads others while it cannot write: its sources are the same",
      {
        wanted: [{ ...orders, topic: "shop.sales", topics: ["shop.returns"] }],
        there: [{ was: both, lag: 7, ...paused }],
      },
      {
        reason: `sources[kafka of input].topic changed; topic shop.sales is read from its beginning, ${unless}; what was not read yet of topic shop.orders stays unread`,
      },
    ],
    [
      "asks other brokers",
      { wanted: [{ ...both, brokers: ["other:9092"] }], there: [{ was: both }] },
      {
        reason: expect.stringContaining(
          "; if the new brokers are another cluster, topic shop.orders is read there from its beginning, topic " +
            "shop.returns is read there from its beginning, and x-sluice.on_lost decides about pending batches",
        ),
      },
    ],
    [
      "is stopped: how far it is behind is that of all",
      { wanted: [{ ...both, sluice: ["state: Stopped"] }], there: [{ was: both, lag: 1234 }] },
      { reason: expect.stringMatching(/; 1234 offsets stay unread in topics shop\.orders and shop\.returns$/) },
    ],
    [
      "goes",
      { wanted: [{ id: "other" }], there: [{ was: both, lag: 12 }] },
      {
        calls: ["stop", "delete"],
        reason:
          `orders.yaml no longer has it; consumer group ${group} keeps its committed offsets of topics shop.orders and ` +
          "shop.returns, 12 offsets before their ends, and a pipeline with this pipeline_id continues from them",
      },
    ],
  ])("%s", (_title, world, expected) => {
    expect(changeFor(world)).toMatchObject(expected);
  });
});

const gone = (there: Omit<There, "was">): World => ({
  wanted: [{ id: "other" }],
  there: [{ was: orders, ...there }],
});

describe("a pipeline that reads a topic, and whose file is gone", () => {
  const place = `consumer group ${group} keeps its committed offsets of topic shop.orders`;
  const closed = { intake: "closed" } as const;

  test.each<[string, World, Expected]>([
    [
      "is stopped and deleted, and its group stays",
      gone({ lag: 12 }),
      {
        kind: "delete",
        calls: ["stop", "delete"],
        reason: `orders.yaml no longer has it; ${place}, 12 offsets before its end, and a pipeline with this pipeline_id continues from them`,
      },
    ],
    [
      "settles its batches first, and is kept while it has dead letters",
      gone({ pending_batches: 1, dead_letters: 2 }),
      {
        calls: ["stop", "delete"],
        reason:
          "orders.yaml no longer has it; 1 pending batch is written first; it is kept while there are 2 dead letters; " +
          `${place}, and a pipeline with this pipeline_id continues from them`,
      },
    ],
    [
      "is stopped again where a batch kept it: it reads on, so that some batch is always pending",
      gone({ ...closed, pending_batches: 2 }),
      { kind: "delete", calls: ["stop", "delete"] },
    ],
    [
      "waits for a person while it cannot write, without a word of events that it holds",
      gone({ ...closed, pending_batches: 2, paused: "table orders is missing" }),
      {
        kind: "refuse",
        cause: "EventsHeld",
        reason: expect.stringMatching(
          /^orders\.yaml no longer has it: it is deleted automatically when nothing of this is left: 2 pending batches\. It cannot write: table orders is missing\. Ways out: resolve what it waits for; or restore it /,
        ),
      },
    ],
    [
      "waits for a person while it has dead letters",
      gone({ ...closed, status: "Stopped", dead_letters: 1 }),
      { kind: "refuse", cause: "DeadLettersHeld" },
    ],
    [
      "is stopped again where its group was not told all, which a stop says again",
      gone({ ...closed, uncommitted: 7 }),
      { kind: "delete", calls: ["stop", "delete"] },
    ],
    [
      "is resumed where it rests and its group was not told all",
      gone({ status: "Stopped", uncommitted: 7 }),
      { kind: "delete", calls: ["resume", "stop", "delete"] },
    ],
    [
      "is resumed where it rests since before the start of the process, so that nobody knows what its group was told",
      gone({ status: "Stopped", uncommitted: "unknown" }),
      { kind: "delete", calls: ["resume", "stop", "delete"] },
    ],
    [
      "is waited for until it has joined its group",
      gone({ ...closed, uncommitted: "unknown" }),
      {
        kind: "no-op",
        cause: "InTransition",
        reason:
          "orders.yaml no longer has it: it is deleted when it has settled offsets that are perhaps not " +
          "committed to its consumer group",
      },
    ],
    [
      "waits for a person while its group cannot be told",
      gone({ ...closed, uncommitted: 7, paused: "no broker answers" }),
      {
        kind: "refuse",
        cause: "GroupBehind",
        calls: [],
        reason:
          "orders.yaml no longer has it: it is deleted automatically when nothing of this is left: 7 offsets that are not " +
          "committed to its consumer group. It cannot commit: no broker answers. Ways out: resolve what it waits for; or restore it " +
          "with x-sluice.state: Terminated, and then remove it, after which these are read again by a pipeline with this pipeline_id",
      },
    ],
    [
      "goes with all that it holds where its file had it terminated, and the plan says what is read again",
      gone({ status: "Terminated", uncommitted: 7, pending_batches: 1 }),
      {
        kind: "delete",
        calls: ["delete"],
        reason: `orders.yaml no longer has it; 1 pending batch is deleted with it; ${place}, and a pipeline with this pipeline_id continues from them, which reads 7 offsets again`,
      },
    ],
  ])("%s", (_title, world, expected) => {
    expect(changeFor(world)).toMatchObject(expected);
  });

  test("and is put back says that it was about to end", () => {
    const change = changeFor({ wanted: [orders], there: [{ was: orders, ...closed }] });
    expect(change).toMatchObject({
      kind: "resume",
      calls: ["stop", "resume"],
      reason: "it is Running and its deletion had begun, x-sluice.state is Running",
    });
  });
});
