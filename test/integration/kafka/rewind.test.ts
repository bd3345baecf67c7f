import { request } from "node:http";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Daemon } from "../../../examples/quickstart/daemon.ts";
import { socketPath } from "../../../reconciler/cli/control/address.ts";
import { Workplace } from "../../support/daemon.ts";
import { useKafka } from "../../support/kafka/use-kafka.ts";
import { type KafkaScene, useScenes } from "./kafka-scene.ts";
import { span } from "../../support/span.ts";

vi.setConfig({ testTimeout: 120_000 });

const inScene = useScenes(useKafka());

const count = (ids: readonly number[]): number => ids.filter((id) => id <= 100).length;
/** Resolves when the table has these rows, and how far they were read is committed: a rewind looks at that. */
async function settled(scene: KafkaScene, ids: readonly number[]): Promise<void> {
  await scene.holds(ids);
  await scene.until(({ pending_batches }) => pending_batches === 0);
}

const twice = (from: number, to: number): number[] => span(from, to).flatMap((id) => [id, id]);

describe("a pipeline that is rewound", () => {
  test("reads again from there on, each event once more, and its group follows", () =>
    inScene(async (scene) => {
      const { engine } = scene.running;
      await scene.produce(1, 60, 0);
      await scene.produce(61, 100, 1);
      await scene.create();
      await settled(scene, span(1, 100));
      const to = { kind: "offsets", offsets: [{ topic: scene.topic, partition: 0, offset: 20 }] } as const;
      const planned = await engine.rewindPlan(scene.pipeline_id, to);
      expect(planned).toMatchObject({ events: 40, partitions: [{ partition: 0, from: 60, to: 20, first: 0 }] });
      expect(planned).not.toHaveProperty("keys");
      expect(await engine.rewind(scene.pipeline_id, to)).toEqual(planned);
      await scene.holds([...span(1, 20), ...twice(21, 60), ...span(61, 100)]);
      expect(engine.health(scene.pipeline_id).overall_status).toBe("Running");
      await engine.stop(scene.pipeline_id);
      expect(await engine.rewind(scene.pipeline_id, { kind: "earliest" })).toMatchObject({ events: 100 });
      await engine.resume(scene.pipeline_id);
      await scene.produce(101, 110, 2);
      const all = [...span(1, 20), ...twice(21, 60), ...span(61, 100), ...span(1, 110)];
      await scene.holds(all.toSorted((a, b) => a - b));
    }));

  test("by its file reads again once, and its group follows", { tags: ["rest"] }, () =>
    inScene(async (scene) => {
      await scene.produce(1, 60, 0);
      await scene.create();
      await settled(scene, span(1, 60));
      const rewind = `${scene.topic}/0=20`;
      await scene.options({ rewind });
      await scene.holds([...span(1, 20), ...twice(21, 60)]);
      await scene.reopen();
      await scene.produce(61, 70, 0);
      await scene.holds([...span(1, 20), ...twice(21, 60), ...span(61, 70)]);
    }),
  );

  test("says what dedup remembers, which drops what comes again", () =>
    inScene(async (scene) => {
      const transforms = [{ type: "dedup", source_id: "input", config: { key: "id", time_window: "1h" } }];
      const { engine } = scene.running;
      await scene.produce(1, 50, 0);
      await scene.create(scene.config({}, { transforms }));
      await settled(scene, span(1, 50));
      const since = { kind: "time", time: 0 } as const;
      expect(await engine.rewind(scene.pipeline_id, since)).toMatchObject({ events: 50, keys: 50, recent: 50 });
      await scene.produce(51, 60, 0);
      await scene.holds(span(1, 60));
    }));

  test("is refused where it cannot be told, and goes on as it was", () =>
    inScene(async (scene) => {
      const { engine } = scene.running;
      const offsets = (partition: number, offset: number) =>
        ({ kind: "offsets", offsets: [{ topic: scene.topic, partition, offset }] }) as const;
      await scene.produce(1, 50, 0);
      await scene.create();
      await settled(scene, span(1, 50));
      const refused = async (to: Parameters<typeof engine.rewind>[1], why: string): Promise<void> => {
        const error = expect.objectContaining({ code: "REWIND_REFUSED", message: expect.stringContaining(why) });
        await expect(engine.rewind(scene.pipeline_id, to)).rejects.toEqual(error);
      };
      await refused(offsets(0, 50), "goes on at offset 50, and 50 is not before that");
      await refused(offsets(7, 1), "expected one that the pipeline has read");
      await refused({ kind: "time", time: Date.now() + 60_000 }, "nothing before its next offsets");
      await scene.produce(51, 60, 0);
      await scene.holds(span(1, 60));
    }));
});

/** Asks the process of a data dir to read from the beginning; resolves when it has answered, or is gone. */
async function askedToRewind(dataDir: string, pipeline_id: string): Promise<void> {
  const path = `/control/v1/pipeline/${pipeline_id}/rewind`;
  const headers = { "content-type": "application/json" };
  const asking = request({ socketPath: await socketPath(dataDir), path, method: "POST", headers });
  await new Promise<void>((resolve) => {
    asking.on("response", (response) => void response.resume().on("close", resolve));
    asking.on("error", () => resolve());
    asking.end(JSON.stringify({ to: { kind: "earliest" } }));
  });
}

describe("a process that is killed within a rewind", () => {
  let place: Workplace;
  beforeEach(async () => {
    place = await Workplace.make();
  });
  afterEach(() => place.clean());

  async function start(scene: KafkaScene): Promise<Daemon> {
    const config = scene.config();
    const { connection_params } = config.sink;
    const sink = { ...config.sink, connection_params: { ...connection_params, port: "9000" } };
    await place.write("orders.json", JSON.stringify({ ...config, sink }));
    return place.start({ args: ["--dir", place.pipelines] });
  }

  // At first it asks the brokers, then it drains, writes, and starts again.
  test.each([0, 60, 250, undefined])("has done it, or has not, and has once it answered: after %s ms", (after) =>
    inScene(async (scene) => {
      await scene.produce(1, 100, 0);
      const first = await start(scene);
      await scene.holds(span(1, 100));
      const asked = askedToRewind(place.dataDir, scene.pipeline_id);
      await (after === undefined ? asked : new Promise((resolve) => setTimeout(resolve, after)));
      await first.stop("SIGKILL");
      await asked;
      await start(scene);
      await scene.produce(101, 110, 1);
      await vi.waitUntil(async () => (await scene.ids()).includes(110), { timeout: 60_000, interval: 100 });
      // What was read again is a row in its order, before anything that it is told from here.
      const possible = after === undefined ? [200] : [100, 200];
      await vi.waitUntil(async () => possible.includes(count(await scene.ids())), { timeout: 60_000, interval: 100 });
      const ids = await scene.ids();
      expect(ids.filter((id) => id <= 100)).toEqual(count(ids) === 100 ? span(1, 100) : twice(1, 100));
    }),
  );
});
