import { describe, expect, test } from "vitest";
import type { EventEffect } from "../../../schemas/index.ts";
import { type Level, levelOf } from "../../../reconciler/plan/level.ts";
import { changedIn } from "../../support/pipeline-file.ts";
import { pipelineText, type PipelineText } from "../../support/pipeline-text.ts";
import { costsOf } from "../../../reconciler/plan/costs/costs.ts";
import { plan } from "../../../reconciler/plan/decide/index.ts";
import { costText } from "../../../reconciler/plan/render/index.ts";
import { reportBetween } from "../preview/sides.ts";
import { changeFor, planFor, statesOf, type There } from "./world.ts";

const orders: PipelineText = { id: "orders", topic: "orders" };
const pushed: PipelineText = { id: "orders" };

interface Case {
  was?: PipelineText;
  wanted: PipelineText;
  there?: Partial<There>;
}

/** What becomes of events by an edit, and the class of the edit. */
function classed({ was = orders, wanted, there = {} }: Case): [EventEffect, Level] {
  const change = changeFor({ wanted: [wanted], there: [{ was, ...there }] });
  return [change.events, levelOf(change)];
}

/** The same of an edit of the text of a file. */
function classedText(was: PipelineText, ...passages: string[]): [EventEffect, Level] {
  const files = { "orders.yaml": changedIn(pipelineText(was), ...passages) };
  const [change] = planFor({ files, there: [{ was }] }).changes;
  return [change!.events, levelOf(change!)];
}

const two: PipelineText = { ...orders, topics: ["views"] };

describe("what becomes of events makes the class", () => {
  test.each<[string, Case, [EventEffect, Level]]>([
    ["events that are gone are skipped", { wanted: { ...orders, sluice: ["on_lost: skip"] } }, ["forget", "forget"]],
    ["an uncertain batch is skipped", { wanted: { ...orders, sluice: ["on_uncertain: skip"] } }, ["forget", "forget"]],
    ["a view is gone on without", { wanted: { ...orders, sluice: ["on_view_error: skip"] } }, ["forget", "forget"]],
    ["an uncertain batch pauses", { wanted: { ...orders, sluice: ["on_uncertain: pause"] } }, ["same", "change"]],
    [
      "an uncertain batch is sent again",
      { was: { ...orders, sluice: ["on_uncertain: pause"] }, wanted: orders },
      ["rows", "rows"],
    ],
    [
      "events that are gone pause it again",
      { was: { ...orders, sluice: ["on_lost: skip"] }, wanted: orders },
      ["same", "change"],
    ],
    ["another topic", { wanted: { ...orders, topic: "sales" } }, ["forget", "forget"]],
    ["a topic less", { was: two, wanted: orders }, ["forget", "forget"]],
    ["a topic more", { wanted: two }, ["rows", "rows"]],
    ["brokers that may be another cluster", { wanted: { ...orders, brokers: ["x:9092"] } }, ["forget", "forget"]],
    ["one broker more", { wanted: { ...orders, brokers: ["kafka:9092", "x:9092"] } }, ["same", "restart"]],
    ["another filter", { wanted: { ...orders, expression: "id > 1" } }, ["rows", "rows"]],
    ["null is refused", { wanted: { ...orders, sluice: ["null: reject"] } }, ["rows", "rows"]],
    [
      "tombstones are kept",
      { wanted: { ...orders, sluice: ["sources: { input: { on_tombstone: dead_letter } }"] } },
      ["rows", "rows"],
    ],
    [
      "a group is adopted that is not needed any more",
      { wanted: { ...orders, sluice: ["sources: { input: { adopt_group: loader } }"] } },
      ["same", "restart"],
    ],
    ["a start that applies no more", { wanted: { ...orders, sluice: ["start: latest"] } }, ["same", "change"]],
    ["the offsets of another run", { wanted: { ...orders, sluice: ["take_over: 0123abcd"] } }, ["forget", "forget"]],
    ["another table", { wanted: { ...orders, table: "sales" } }, ["rows", "rows"]],
    ["another size of batches", { wanted: { ...orders, max_batch_size: 5 } }, ["same", "restart"]],
    [
      "another filter of a pipeline that does not run",
      {
        was: { ...pushed, sluice: ["state: Stopped"] },
        wanted: { ...pushed, sluice: ["state: Stopped"], expression: "id > 1" },
        there: { status: "Stopped" },
      },
      ["rows", "rows"],
    ],
  ])("%s", (_title, given, expected) => {
    expect(classed(given)).toEqual(expected);
  });

  const declared = "{ name: level, type: string }]";

  test.each<[string, string[], [EventEffect, Level]]>([
    [
      "a field is declared too",
      [declared, "{ name: level, type: string }, { name: at, type: string }]"],
      ["rows", "rows"],
    ],
    [
      "a field is no longer declared",
      [
        `{ name: id, type: int }, ${declared}`,
        "{ name: level, type: string }]",
        /.*column_name: id.*\n/.exec(pipelineText(pushed))![0],
        "",
      ],
      ["rows", "rows"],
    ],
    [
      "a field is not required any more",
      [declared, "{ name: level, type: string, required: false }]"],
      ["rows", "rows"],
    ],
    [
      "a column is fed by another field",
      ["{ name: level, column_name: level", "{ name: id, column_name: level"],
      ["rows", "rows"],
    ],
  ])("%s", (_title, passages, expected) => {
    expect(classedText(pushed, ...passages)).toEqual(expected);
  });

  test("columns in another order are the same rows", () => {
    const [id, level] = pipelineText(pushed).match(/ {4}- \{ name: \w+, column_name.*\n/g)!;
    expect(classedText(pushed, `${id}${level}`, `${level}${id}`)).toEqual(["same", "restart"]);
  });

  test("a topic that another source goes on with is not left", () => {
    const text = pipelineText(two);
    const swapped = text
      .replace("topic: orders", "topic: x")
      .replace("topic: views", "topic: orders")
      .replace("topic: x", "topic: views");
    const [change] = planFor({ files: { "orders.yaml": swapped }, there: [{ was: two }] }).changes;
    expect(change).toMatchObject({ events: "rows", effect: "restart" });
  });
});

/** The sentences about what an edit of the text of a file costs. */
function costOf(base: PipelineText, ...passages: string[]): string[] {
  const files = { "orders.yaml": changedIn(pipelineText(base), ...passages) };
  const [actual, wanted] = statesOf({ files, there: [{ was: base }] });
  const [change] = plan(actual, wanted).changes;
  return costsOf(change!, actual.pipelines.get("orders"), wanted.pipelines[0]).map((cost) => costText(cost));
}

/** A pipeline of these signals. */
function telemetryOf(...types: string[]): Record<string, string> {
  return {
    "logs.yaml": `version: v3
pipeline_id: telemetry
sources:
${types.map((type) => `  - { type: ${type}, source_id: ${type} }`).join("\n")}
sink:
  type: clickhouse
  connection_params: { host: embedded }
  table: telemetry
  mapping: [{ name: resource_attributes.service.name, column_name: service, column_type: String }]
`,
  };
}

describe("what an edit costs in events", () => {
  const onServer = { ...pushed, connection: ['port: "8123"', "username: u", "password: ${env:SLUICE_SECRET_P}"] };

  test("another port may be another server", () => {
    expect(costOf(onServer, 'port: "8123"', 'port: "8124"')[0]).toBe(
      "rows go to another port of embedded from then on, which may be another server",
    );
  });

  test("brokers that may be another cluster leave what is unread at the old ones", () => {
    expect(costOf(orders, "kafka:9092", "other:9092")[0]).toBe(
      "if the new brokers are another cluster, what is not read yet of topic orders at the old ones stays unread",
    );
  });

  test("one signal more is taken", () => {
    const { errors, changes } = reportBetween([telemetryOf("otlp.logs")], [telemetryOf("otlp.logs", "otlp.metrics")]);
    expect(errors).toEqual([]);
    expect(changes.map(({ level, costs }) => [level, ...costs.slice(0, 1).map(({ text }) => text)])).toEqual([
      ["rows", "events of otlp.metrics are taken from then on"],
    ]);
  });
});

test("the class of a topic that is left does not depend on the lag: more may come until it stops", () => {
  const wanted = { ...orders, topic: "sales" };
  expect([0, 7].map((lag) => classed({ wanted, there: { lag } }))).toEqual([
    ["forget", "forget"],
    ["forget", "forget"],
  ]);
});
