import { describe, expect, test } from "vitest";
import type { EventEffect } from "../../../schemas/index.ts";
import type { Change } from "../../../reconciler/plan/change.ts";
import { changeFor, read } from "./world.ts";
import type { Expected, World } from "./world.ts";

const orders = { id: "orders" };

const field = (path: string, events: EventEffect): Change["fields"] => [
  expect.objectContaining({ path, effect: "restart", events }) as Change["fields"][number],
];

describe("a dedup", () => {
  const dedup = (of: { key?: string; window?: string; resources?: string } = {}) => ({
    ...orders,
    transforms: [
      `{ type: dedup, source_id: input, config: { key: ${of.key ?? "id"}, time_window: ${of.window ?? "1h"} } }`,
    ],
    root: of.resources === undefined ? [] : [`resources: { transform: [{ source_id: input, ${of.resources} }] }`],
  });
  const stored = { storage: { size: "10Gi" }, replicas: 1 };

  test.each<[string, World, Expected]>([
    [
      "that is new needs a restart",
      { wanted: [dedup()], there: [{ was: orders }] },
      { kind: "update", effect: "restart", events: "rows", calls: ["stop", "update", "resume"] },
    ],
    [
      "that goes takes what it remembers with it",
      { wanted: [orders], there: [{ was: dedup() }] },
      { kind: "update", effect: "restart", events: "forget", calls: ["stop", "update", "resume"] },
    ],
    [
      "forgets when its key changes",
      { wanted: [dedup({ key: "level" })], there: [{ was: dedup() }] },
      {
        kind: "update",
        effect: "restart",
        events: "forget",
        fields: field("transforms[dedup of input].config.key", "forget"),
      },
    ],
    [
      "keeps what it remembers when its window changes",
      { wanted: [dedup({ window: "2h" })], there: [{ was: dedup() }] },
      {
        kind: "update",
        effect: "restart",
        events: "rows",
        fields: field("transforms[dedup of input].config.time_window", "rows"),
      },
    ],
    [
      "is the same with another spelling of its window",
      { wanted: [dedup({ window: "60m" })], there: [{ was: dedup() }] },
      { kind: "no-op", cause: "InSync" },
    ],
    [
      "keeps its storage",
      { wanted: [dedup({ resources: "storage: { size: 20Gi }" })], there: [{ was: dedup() }] },
      {
        kind: "refuse",
        cause: "ImmutableField",
        fields: [{ path: "resources.transform[input].storage.size", effect: "refuse", from: "10Gi", to: "20Gi" }],
      },
    ],
    [
      "keeps its workers",
      { wanted: [dedup({ resources: "replicas: 2" })], there: [{ was: dedup() }] },
      {
        kind: "refuse",
        cause: "ImmutableField",
        fields: [expect.objectContaining({ path: "resources.transform[input].replicas", effect: "refuse" })],
      },
    ],
    [
      "keeps the storage that a later file does not name",
      { wanted: [dedup({ window: "2h" })], there: [{ was: dedup({ resources: "storage: { size: 20Gi }" }) }] },
      {
        kind: "update",
        effect: "restart",
        events: "rows",
        fields: field("transforms[dedup of input].config.time_window", "rows"),
      },
    ],
  ])("%s", (_title, world, expected) => {
    expect(changeFor(world)).toMatchObject(expected);
  });

  test("has storage from the first", () => {
    expect(read(dedup()).config.resources.transform).toMatchObject([{ source_id: "input", ...stored }]);
  });
});
