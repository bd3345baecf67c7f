import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { accuracyOf } from "../../../reconciler/apply/accuracy.ts";
import { pipelineText, type PipelineText } from "../../support/pipeline-text.ts";
import { OrdersScene } from "./orders-scene.ts";

const sluiceLines = ["access_token: ${T}"];
const orders: PipelineText = { id: "orders", sluice: sluiceLines };
const filtered: PipelineText = { ...orders, expression: 'level == "error" && id > 0' };
const stream = (max_age: string): string => `resources: { nats: { stream: { max_age: ${max_age} } } }`;

let scene: OrdersScene;

beforeEach(async () => {
  scene = await OrdersScene.open();
  await scene.createTable();
  await scene.say("orders", pipelineText({ ...orders, root: [stream("24h")] }));
  await scene.turn();
});

afterEach(() => scene.close());

describe("what was predicted is kept beside what happened", () => {
  test("of an edit: class, calls, costs, and the pause that it took", async () => {
    await scene.say("orders", pipelineText({ ...filtered, root: [stream("24h")] }));
    expect(await scene.turn()).toBe("applied");
    const [edit, creation] = scene.history();
    expect(creation).toMatchObject({ plan: { kind: "create", level: "change", calls: ["create"] } });
    expect(edit).toMatchObject({
      plan: {
        level: "rows",
        calls: ["stop", "update", "resume"],
        costs: [
          expect.stringMatching(/^the filter of input keeps other events/),
          expect.stringMatching(/^drains, about a second/),
        ],
        losses: [],
        expects: { drained: 0, pause_ms: 1_000, dead_letters_dropped: 0 },
      },
      measured: { events_drained: 0, dead_letters_dropped: 0, pause_ms: expect.any(Number) as number },
    });
    const { changes, applied, calls, pause_ms, off } = accuracyOf(scene.history());
    expect([changes, applied, calls, off]).toEqual([2, 2, 2, []]);
    const took = edit!.measured.pause_ms!;
    const distance = Math.abs(took - 1_000);
    expect(pause_ms).toEqual({
      changes: 1,
      predicted: 1_000,
      happened: took,
      median_off: distance,
      most_off: distance,
    });
  });

  test("of a recreation: the dead letters that it drops", { tags: ["rest"] }, async () => {
    expect(await scene.send("none")).toBe(202);
    await scene.engine.until("orders", ({ dead_letters }) => dead_letters.total_messages === 1);
    await scene.say(
      "orders",
      pipelineText({ ...orders, sluice: [...sluiceLines, "recreate: true"], root: [stream("48h")] }),
    );
    for (let left = 10; left > 0 && (await scene.turn()) !== "applied"; left -= 1);
    const [recreation] = scene.history();
    expect(recreation).toMatchObject({
      plan: { kind: "recreate", level: "delete", losses: ["1 dead letter"], expects: { dead_letters_dropped: 1 } },
      measured: { dead_letters_dropped: 1 },
    });
    expect(accuracyOf(scene.history()).dead_letters_dropped).toMatchObject({ predicted: 1, happened: 1, most_off: 0 });
  });
});
