import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Registry } from "prom-client";
import { afterEach, beforeEach, expect, test } from "vitest";
import { settledFolder } from "../../support/settled-folder.ts";
import { Reconciler } from "../../../reconciler/reconciler.ts";
import { keptLog } from "../../support/engine.ts";
import { ModelEngine } from "../../support/model-engine.ts";
import { v2Filter, v2Text } from "../../support/version-2.ts";

let folder: string;
let engine: ModelEngine;
let reconciler: Reconciler;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-v2-"));
  for (const name of ["data", "files"]) await mkdir(join(folder, name));
  engine = new ModelEngine();
  reconciler = new Reconciler({
    source: settledFolder(join(folder, "files")),
    engine,
    dataDir: join(folder, "data"),
    log: keptLog(),
    registry: new Registry(),
    interval: 60_000,
  });
});

afterEach(() => rm(folder, { recursive: true, force: true }));

/** One turn of the reconciler with this file. */
async function turnWith(text: string): Promise<void> {
  await writeFile(join(folder, "files/orders.yaml"), text);
  const { error } = await reconciler.turn("manual", new AbortController().signal);
  if (error !== undefined) throw error;
}

const conditions = (): string[] | undefined =>
  reconciler.snapshot().pipelines[0]?.conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`);

test("a v2 file without a filter runs converted, and follows its changes", async () => {
  await turnWith(v2Text("orders"));
  expect(engine.calls).toEqual(["create orders"]);
  expect(engine.get("orders")).toMatchObject({
    status: "Running",
    config: { version: "v3", sink: { table: "orders" } },
  });
  expect(conditions()).toEqual(["Ready True ReconciliationSucceeded"]);
  await turnWith(v2Text("orders", ["name: All orders"]));
  expect(engine.calls).toEqual(["create orders", "rename orders"]);
});

test("a v2 file with a deduplication runs with a dedup", async () => {
  await turnWith(v2Text("orders", [], "{ name: input, deduplication: { enabled: true, key: id, time_window: 1h } }"));
  expect(engine.calls).toEqual(["create orders"]);
  expect(engine.get("orders").config.transforms).toEqual([
    { type: "dedup", source_id: "input", config: { key: "id", time_window: "1h0m0s" } },
  ]);
  expect(conditions()).toEqual(["Ready True ReconciliationSucceeded"]);
});

test("a v2 file with a filter is held back: nothing is made of it", async () => {
  await turnWith(v2Text("orders", v2Filter));
  expect(engine.calls).toEqual([]);
  expect(conditions()).toEqual(["Ready False InvalidFile", "Stalled True InvalidFile"]);
});

test("a running pipeline goes on when its v2 file gets a filter, until a person has looked at it", async () => {
  await turnWith(v2Text("orders"));
  const before = engine.get("orders");
  await turnWith(v2Text("orders", v2Filter));
  expect(engine.get("orders")).toEqual(before);
  expect(conditions()).toEqual(["Ready False InvalidFile", "Stalled True InvalidFile"]);
  expect(reconciler.snapshot().pipelines[0]?.conditions[0]?.message).toMatch(
    /^orders\.yaml:18:15: transforms\[0\]\.config\.expression: expected a reviewed filter.*it stays Running/,
  );
  await turnWith(v2Text("orders", [...v2Filter, "x-sluice: { filters_reviewed: true }"]));
  expect(engine.calls).toEqual(["create orders", "stop orders", "update orders", "resume orders"]);
  expect(engine.get("orders").config.transforms).toMatchObject([{ config: { expression: "level == 'debug'" } }]);
});
