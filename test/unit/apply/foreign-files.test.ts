import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { pipelineText } from "../../support/pipeline-text.ts";
import { orders, outcomes, readyOf, World } from "./world.ts";

const sales = { id: "sales-eu" };
const compose = Buffer.from('version: "3.8"\nservices: {}\n');
let world: World;

beforeEach(async () => {
  world = await World.make();
});

afterEach(() => world.remove());

test("a file of another tool stalls nothing, and holds no deletion up", async () => {
  const reconciler = await world.after(orders, sales);
  world.source.say(orders);
  (await world.source.fetch()).files.push({ path: "compose.yaml", bytes: compose });
  expect(await outcomes(reconciler)).toEqual({ "sales-eu": "applied" });
  const { conditions, problems } = reconciler.snapshot();
  expect(conditions[0]).toMatchObject({ type: "Ready", status: "True" });
  expect(problems).toMatchObject([{ severity: "info", code: "NOT_A_PIPELINE", file: "compose.yaml" }]);
});

test("in the file of a pipeline it leaves that as it is", async () => {
  const reconciler = await world.after(orders, sales);
  world.source.say(orders);
  (await world.source.fetch()).files.push({ path: "sales-eu.yaml", bytes: compose });
  expect(await outcomes(reconciler)).toEqual({});
  expect(world.engine.get("sales-eu").status).toBe("Running");
  expect(readyOf(reconciler, "sales-eu")).toEqual(["False", "InvalidFile", "Stalled"]);
});

test("a pattern that names the file of a pipeline deletes nothing", async () => {
  const reconciler = await world.after(orders, sales);
  world.source.say(orders, sales);
  (await world.source.fetch()).files.push({ path: ".sluiceignore", bytes: Buffer.from("sales*\n") });
  expect(await outcomes(reconciler)).toEqual({});
  expect(readyOf(reconciler, "sales-eu")).toEqual(["False", "InvalidFile", "Stalled"]);
  expect(world.engine.get("sales-eu").status).toBe("Running");
});

describe("a pipeline whose file was moved to a place that is not read is not deleted", () => {
  const moved = [".archive/sales-eu.yaml", ".sales-eu.yaml", "team/.old/sub/sales.json", "team/sales-eu.test.yaml"];
  test.each(moved)("%s", async (path) => {
    const reconciler = await world.after(orders, sales);
    world.source.say(orders);
    (await world.source.fetch()).files.push({ path, bytes: Buffer.from(pipelineText(sales)) });
    expect(await outcomes(reconciler)).toEqual({});
    expect(world.engine.get("sales-eu").status).toBe("Running");
    expect(readyOf(reconciler, "sales-eu")).toEqual(["False", "InvalidFile", "Stalled"]);
    expect(reconciler.snapshot().problems).toMatchObject([{ code: "HIDDEN_FILE", file: path }]);
    world.source.say(orders);
    expect(await outcomes(reconciler)).toEqual({ "sales-eu": "applied" });
  });

  test("but its tests keep no pipeline", async () => {
    const reconciler = await world.after(orders, sales);
    world.source.say(orders);
    const tests = Buffer.from("pipeline_id: sales-eu\ntests: []\n");
    (await world.source.fetch()).files.push({ path: "sales-eu.test.yaml", bytes: tests });
    expect(await outcomes(reconciler)).toEqual({ "sales-eu": "applied" });
    expect(reconciler.snapshot().problems).toEqual([]);
  });

  test("but a hidden copy of it is nothing, nor one of a pipeline that is not there", async () => {
    const reconciler = await world.after(orders);
    world.source.say(orders);
    const { files } = await world.source.fetch();
    files.push({ path: ".old/orders.yaml", bytes: Buffer.from(pipelineText(orders)) });
    files.push({ path: ".old/sales.yaml", bytes: Buffer.from(pipelineText(sales)) });
    expect(await outcomes(reconciler)).toEqual({});
    expect(reconciler.snapshot().problems).toEqual([]);
  });
});
