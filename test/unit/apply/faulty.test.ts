import { afterEach, beforeEach, expect, test } from "vitest";
import { type FileReader, readerInThisThread } from "../../../reconciler/desired/file-reader.ts";
import { conditionOf, edited, orders, outcomes, readyOf, signal, World } from "./world.ts";

/** Reads files as ever, but makes whatever looks at the sources of one pipeline throw, while that is wanted. */
class FaultyReader implements FileReader {
  isFaulty = true;
  readonly ignored: FileReader["ignored"] = (...given) => readerInThisThread.ignored(...given);

  async *read(...given: Parameters<FileReader["read"]>): ReturnType<FileReader["read"]> {
    for await (const file of readerInThisThread.read(...given)) {
      for (const { pipeline } of file.documents) {
        if (pipeline?.pipeline_id !== "orders") continue;
        for (const holder of [pipeline.config, pipeline.document]) this.#spoil(holder);
      }
      yield file;
    }
  }

  #spoil(holder: object & { sources: unknown }): void {
    const { sources } = holder;
    const get = (): unknown => {
      if (this.isFaulty) throw new TypeError("x is undefined");
      return sources;
    };
    Object.defineProperty(holder, "sources", { enumerable: true, get });
  }
}

const payments = { id: "payments" };
let world: World;
let reader: FaultyReader;

beforeEach(async () => {
  world = await World.make();
  reader = new FaultyReader();
});

afterEach(() => world.remove());

test("a file on which planning fails is refused, and all others are carried out", async () => {
  world.source.say({ id: "clicks" }, orders, payments, { id: "users" });
  const reconciler = world.reconciler({ reader });
  const turn = await reconciler.turn("start", signal);
  expect(turn.error).toBeUndefined();
  expect(world.engine.list().map(({ pipeline_id }) => pipeline_id)).toEqual(["clicks", "payments", "users"]);
  expect(readyOf(reconciler)).toEqual(["False", "InvalidFile", "Stalled"]);
  expect(conditionOf(reconciler)?.message).toContain(
    "orders.yaml:1:1: file: expected a file on which Sluice does not fail, got an error of Sluice itself: TypeError: x is undefined",
  );
  const errors = reconciler.snapshot().problems.filter(({ severity }) => severity === "error");
  expect(errors).toMatchObject([{ code: "FAULT", file: "orders.yaml" }]);
});

test("a pipeline that runs stays as it is while planning fails on its file, and takes it up after that", async () => {
  await world.after(orders);
  const reconciler = world.reconciler({ reader });
  world.source.say(edited, payments);
  expect(await outcomes(reconciler)).toEqual({ payments: "applied" });
  expect(world.engine.health("orders").overall_status).toBe("Running");
  expect(readyOf(reconciler)).toEqual(["False", "InvalidFile", "Stalled"]);
  reader.isFaulty = false;
  world.source.say(edited, payments);
  expect(await outcomes(reconciler)).toEqual({ orders: "applied" });
});

test("a pipeline whose move to another file and id planning fails on stays as it is", async () => {
  await world.after({ id: "sales" }, payments);
  const reconciler = world.reconciler({ reader });
  const moved = { ...orders, name: "sales", sluice: ["moved_from: sales"] };
  world.source.say(moved, payments);
  await reconciler.turn("poll", signal);
  expect(world.engine.list().map(({ pipeline_id }) => pipeline_id)).toEqual(["payments", "sales"]);
  expect(world.engine.health("sales").overall_status).toBe("Running");
  reader.isFaulty = false;
  world.source.say(moved, payments);
  expect(await outcomes(reconciler)).toEqual({ orders: "applied" });
});

test("a change on which Sluice fails before its calls fails alone", async () => {
  reader.isFaulty = false;
  world.source.say({ ...orders, sluice: ["depends_on: [clicks]"] }, { id: "clicks" }, payments);
  const reconciler = world.reconciler({ reader });
  world.engine.onCall = (_call, id) => {
    if (id === "clicks") reader.isFaulty = true;
  };
  const turn = await reconciler.turn("start", signal);
  expect(turn.error).toBeUndefined();
  expect(turn.outcomes).toMatchObject([
    { pipeline_id: "clicks", result: "applied" },
    { pipeline_id: "payments", result: "applied" },
    { pipeline_id: "orders", result: "failed", message: "an error of Sluice itself: x is undefined" },
  ]);
});
