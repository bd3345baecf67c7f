import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { event, Scene, Stage, window } from "./scene.ts";
import { span } from "../../support/span.ts";

vi.setConfig({ testTimeout: 90_000 });

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.open();
});

afterAll(() => stage.close());

const table = `CREATE TABLE % (id Int64, level String) ENGINE = MergeTree ORDER BY id ${window}`;
/**
 * Plays with a pipeline whose table is gone: events 1 to 5 and 6 to 10 are in two batches under way that met refusals,
 * 11 to 13 are behind them in the stream.
 */
function inPause(play: (scene: Scene) => Promise<void>): (scene: Scene) => Promise<void> {
  return async (scene) => {
    await scene.create([table], replicated(scene));
    await scene.post(span(101, 105).map(event));
    await scene.settled();
    await scene.sql("DROP TABLE % SYNC");
    await scene.post(span(1, 13).map(event));
    await scene.until(({ paused, pending_batches }) => paused?.class === "setup" && pending_batches === 2);
    expect(scene.health.stream!.messages).toBe(13);
    await play(scene);
  };
}

function replicated(scene: Scene): ReturnType<Scene["config"]> {
  return scene.config({}, { resources: { sink: { replicas: 2 }, nats: { stream: { max_msgs: -1 } } } });
}

describe("a pipeline that waits in a pause", () => {
  test.concurrent("is stopped at once: what is prepared stays so, and goes on with the resume", () =>
    stage.share(
      "pause-stop",
      inPause(async (scene) => {
        const { engine } = scene.running;
        await engine.stop("pause-stop");
        expect(scene.health).toMatchObject({
          overall_status: "Stopped",
          pending_batches: 2,
          stream: { messages: 13 },
          dead_letters: { total_messages: 0 },
        });
        await scene.sql(table);
        await engine.resume("pause-stop");
        await scene.post(span(14, 15).map(event));
        const { counters } = await scene.settled();
        expect(counters).toMatchObject({ batches_replayed: 2, batches_uncertain: 0 });
        expect(await scene.ids()).toEqual(span(1, 15));
      }),
    ),
  );

  test.concurrent(
    "keeps exactly what is prepared when it is terminated, also over a new start of the process",
    { tags: ["rest"] },
    () =>
      stage.alone(
        "pause-terminate",
        inPause(async (scene) => {
          await scene.running.engine.terminate("pause-terminate");
          const kept = { overall_status: "Terminated", pending_batches: 2, stream: { messages: 10 } };
          expect(scene.health).toMatchObject(kept);
          await scene.reopen(() => scene.sql(table));
          expect(scene.health).toMatchObject(kept);
          await scene.running.engine.resume("pause-terminate");
          await scene.post(span(21, 25).map(event));
          const { counters } = await scene.settled();
          expect(await scene.ids()).toEqual([...span(1, 10), ...span(21, 25)]);
          expect(counters).toMatchObject({ batches_replayed: 2, rows_written: 15 });
        }),
      ),
  );

  test.concurrent("leaves nothing behind when it is stopped and deleted", { tags: ["rest"] }, () =>
    stage.alone(
      "pause-delete",
      inPause(async (scene) => {
        await scene.running.engine.stop("pause-delete");
        await scene.running.engine.delete("pause-delete");
        expect(() => scene.health).toThrow(expect.objectContaining({ code: "PIPELINE_NOT_FOUND" }));
        await scene.reopen();
        await scene.create([table], replicated(scene));
        expect(scene.health).toMatchObject({ pending_batches: 0, stream: { messages: 0 } });
        await scene.post(span(31, 35).map(event));
        const { counters } = await scene.settled();
        expect(await scene.ids()).toEqual(span(31, 35));
        expect(counters).toMatchObject({ batches_replayed: 0, rows_written: 5 });
      }),
    ),
  );
});
