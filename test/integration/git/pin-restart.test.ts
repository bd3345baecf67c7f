/** @module-tag rest */
import { rename } from "node:fs/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { pipelineText } from "../../support/pipeline-text.ts";
import { World } from "../../unit/apply/world.ts";
import { Scene, signal } from "./scene.ts";

let scene: Scene;
let world: World;

beforeEach(async () => {
  scene = await Scene.make();
  world = await World.make();
});

afterEach(async () => {
  await scene.end();
  await world.remove();
});

const text = (id: string, more = {}): string => pipelineText({ id, ...more });

test("after a restart with a rollback and without the remote, the default branch is the same source as before", async () => {
  const open = (): ReturnType<Scene["open"]> => scene.open({ branch: undefined as never });
  const files = { "orders.yaml": text("orders"), "returns.yaml": text("returns"), "sales.yaml": text("sales") };
  const first = await scene.origin.commit(files);
  const before = world.reconciler({ source: open() });
  await before.turn("start", signal);
  await scene.origin.commit({ "orders.yaml": text("orders", { expression: "id > 1" }) });
  await before.turn("manual", signal);
  await before.operator.rollBack(first, {}, false);
  await before.turn("manual", signal);
  await rename(scene.origin.path, `${scene.origin.path}.away`);
  const after = world.reconciler({ source: open() });
  await after.turn("start", signal);
  await rename(`${scene.origin.path}.away`, scene.origin.path);
  await scene.origin.commit({ "returns.yaml": null });
  const turn = await after.turn("manual", signal);
  expect(turn.error).toBeUndefined();
  expect(turn.sourceChange).toBeUndefined();
});
