import { afterEach, beforeEach, expect, test } from "vitest";
import type { Variables } from "../../../reconciler/language/variables.ts";
import { printPlan } from "../../../reconciler/plan/render/print.ts";
import { signal, World } from "./world.ts";

let world: World;

beforeEach(async () => {
  world = await World.make();
});

afterEach(() => world.remove());

const orders = { id: "orders", expression: "id > ${var:LEAST}" };

test("a value that changes is a change like any other, which names its variable", async () => {
  let variables: Variables = new Map([["LEAST", "1"]]);
  const reconciler = world.reconciler({ variables: async () => variables });
  world.source.say(orders);
  await reconciler.turn("start", signal);
  expect(world.engine.get("orders").config.transforms).toMatchObject([{ config: { expression: "id > 1" } }]);
  expect((await reconciler.turn("poll", signal)).plan?.changes).toMatchObject([{ kind: "no-op", cause: "InSync" }]);

  variables = new Map([["LEAST", "2"]]);
  const { plan } = await reconciler.turn("poll", signal);
  expect(plan?.changes).toMatchObject([
    { kind: "update", cause: "Changed", fields: [{ from: "id > 1", to: "id > 2", variables: ["LEAST"] }] },
  ]);
  expect(printPlan(plan!)).toContain(".config.expression (${var:LEAST})\n      - id > 1\n      + id > 2");
  expect(world.engine.get("orders").config.transforms).toMatchObject([{ config: { expression: "id > 2" } }]);
});

test("without its value a pipeline runs on as it was, and variables that cannot be read change nothing", async () => {
  let variables: Variables | Error = new Map([["LEAST", "1"]]);
  const reconciler = world.reconciler({
    variables: async () => {
      if (variables instanceof Error) throw variables;
      return variables;
    },
  });
  world.source.say(orders);
  await reconciler.turn("start", signal);
  world.engine.calls.length = 0;

  variables = new Map();
  expect((await reconciler.turn("poll", signal)).plan?.changes).toMatchObject([
    { kind: "no-op", cause: "InvalidFile" },
  ]);
  variables = new Error("cannot read the variables file");
  const turn = await reconciler.turn("poll", signal);
  expect(turn.error?.message).toBe("cannot read the variables file");
  expect(reconciler.snapshot().conditions).toContainEqual(
    expect.objectContaining({ message: expect.stringContaining("cannot read the variables file") as string }),
  );
  expect(world.engine.calls).toEqual([]);
  expect(world.engine.get("orders").status).toBe("Running");
});
