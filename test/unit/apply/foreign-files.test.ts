import { afterEach, beforeEach, expect, test } from "vitest";
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
