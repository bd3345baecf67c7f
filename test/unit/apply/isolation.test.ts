import { afterEach, beforeEach, expect, test } from "vitest";
import { signal, World } from "./world.ts";

/** More than are changed at one time. */
const count = 40;
const ids = Array.from({ length: count }, (_, index) => `pipeline-${index}`);
const failing = "pipeline-20";
let world: World;

beforeEach(async () => {
  world = await World.make();
});

afterEach(() => world.remove());

test(
  "one of dozens that always fails keeps no other from its change, at once and later",
  { timeout: 120_000 },
  async () => {
    world.engine.onCall = (_call, pipeline_id) => {
      if (pipeline_id === failing) throw new Error("disturbed on purpose");
    };
    const reconciler = await world.after(...ids.map((id) => ({ id })));
    const running = (): number => world.engine.list().filter(({ status }) => status === "Running").length;
    await expect.poll(running).toBe(count - 1);
    world.engine.calls.length = 0;
    world.source.say(...ids.map((id) => ({ id, name: "Another name" })));
    await reconciler.turn("poll", signal);
    const renamed = (): number => world.engine.list().filter(({ config }) => config.name === "Another name").length;
    await expect.poll(renamed).toBe(count - 1);
    expect(world.engine.calls.filter((call) => call.endsWith(failing))).toEqual([`create ${failing}`]);
    const [ready] =
      reconciler.snapshot().pipelines.find(({ pipeline_id }) => pipeline_id === failing)?.conditions ?? [];
    expect(ready).toMatchObject({ status: "False", reason: "ReconciliationFailed" });
  },
);
