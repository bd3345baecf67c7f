import { describe, expect, test } from "vitest";
import { consumerGroup } from "../../../engine/index.ts";
import type { Reason } from "../../../reconciler/plan/reason.ts";
import { pipelineText } from "../../support/pipeline-text.ts";
import { changeFor, inSyncWith } from "./world.ts";
import type { World } from "./world.ts";

const orders = { id: "orders" };
const group = consumerGroup("orders");
const immutable = { ...orders, root: ["resources: { nats: { stream: { max_age: 48h } } }"] };
const filter = "transforms[filter of input].config.expression";
const untouched = { reading: { elsewhere: [], added: [], begins: false }, isDrifted: false };
const nothing = { held: 0, pending_batches: 0 };

describe("why a change is made, as data", () => {
  test.each<[string, World, Reason]>([
    [
      "a new pipeline: its state, and where its topics begin",
      { wanted: [{ ...orders, topic: "shop", sluice: ["start: latest"] }] },
      { code: "New", facts: { state: "Running", topics: [{ topic: "shop", group, start: "latest" }], shared: [] } },
    ],
    [
      "an edit: its fields, and what is written first",
      { wanted: [{ ...orders, expression: "id > 1" }], there: [{ was: orders, held: 7 }] },
      { code: "Edited", facts: { paths: [filter], ...untouched, writes: { held: 7, pending_batches: 0 } } },
    ],
    [
      "an edit with another status: both",
      {
        wanted: [{ ...orders, expression: "id > 1", sluice: ["state: Terminated"] }],
        there: [{ was: orders, held: 7 }],
      },
      {
        code: "Edited",
        facts: {
          paths: [filter],
          ...untouched,
          state: { status: "Running", wish: "Terminated", leaves: { way: "dropped", held: 7 } },
          writes: nothing,
        },
      },
    ],
    [
      "a drift: what puts it back, within",
      {
        wanted: [orders],
        there: [{ was: { ...orders, name: "By hand" }, owned: inSyncWith(orders) }],
      },
      {
        code: "Drifted",
        facts: { of: { code: "Edited", facts: { paths: ["name"], ...untouched, writes: nothing } } },
      },
    ],
    [
      "a deletion: the file, what it holds, and the place of its group",
      { wanted: [{ id: "other" }], there: [{ was: { ...orders, topic: "shop" }, lag: 3, dead_letters: 2 }] },
      {
        code: "FileRemoved",
        facts: {
          file: "orders.yaml",
          way: "kept",
          holds: { ...nothing, dead_letters: 2 },
          place: { group, topics: ["shop"], lag: 3, uncommitted: 0 },
        },
      },
    ],
    [
      "a deletion that cannot go on: what is held, and what is the trouble",
      { wanted: [{ id: "other" }], there: [{ was: orders, held: 7, intake: "closed", paused: "no table" }] },
      {
        code: "EndHindered",
        facts: {
          trigger: { ending: "prune", file: "orders.yaml" },
          hindrance: {
            cause: "EventsHeld",
            why: {
              code: "Holds",
              facts: {
                pipeline_id: "orders",
                ending: "prune",
                holds: { held: 7, pending_batches: 0, dead_letters: 0 },
                reads: false,
                failed: false,
                trouble: "no table",
              },
            },
          },
        },
      },
    ],
    [
      "a field that cannot change: both values, and what a recreation loses",
      { wanted: [immutable], there: [{ was: { ...orders, root: [] } }] },
      {
        code: "ImmutableField",
        facts: {
          path: "resources.nats.stream.max_age",
          from: "24h0m0s",
          to: "48h0m0s",
          reads: false,
          recreation_loses: ["DeadLetters", "AccessToken"],
        },
      },
    ],
    [
      "a dependency that does not run: why not",
      { wanted: [{ ...orders, sluice: ["depends_on: [zebra]"] }] },
      { code: "DependencyNotReady", facts: { dependency: { pipeline_id: "zebra", why: { is: "unknown" } } } },
    ],
    [
      "deletions beyond the budget: how many, of how many",
      {
        wanted: [{ id: "other" }],
        there: [{ was: orders }],
        budget: { limit: { count: 0, share: 0 }, begun: 1, of: 9 },
      },
      {
        code: "DeletionBudget",
        facts: { file: "orders.yaml", waiting: 1, begun: 1, of: 9, limit: { count: 0, share: 0 } },
      },
    ],
  ])("%s", (_title, world, why) => {
    expect(changeFor(world).why).toEqual(why);
  });

  test("a column that is new in the mapping: that alter_table adds it, and nothing without that option", () => {
    const mapped = "    - { name: id, column_name: id, column_type: Int64 }\n";
    const wider = (...sluice: string[]): World => ({
      files: {
        "orders.yaml": pipelineText({ ...orders, sluice }).replace(
          mapped,
          `${mapped}    - { name: id, column_name: id_text, column_type: String }\n`,
        ),
      },
      there: [{ was: { ...orders, sluice } }],
    });
    const altering = changeFor(wider("alter_table: true"));
    expect(altering.why).toMatchObject({ code: "Edited", facts: { adds: ["id_text"] } });
    expect(altering.reason).toContain("; adds the column id_text to its table, where that lacks it");
    expect(changeFor(wider()).why).not.toHaveProperty("facts.adds");
  });
});
