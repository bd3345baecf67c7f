/** @module-tag rest */
import { afterEach, beforeEach, test, vi } from "vitest";
import type { Daemon } from "../../../examples/quickstart/daemon.ts";
import type { PipelineHealth } from "../../../engine/index.ts";
import { defaultOptions } from "../../../schemas/index.ts";
import { TestEngine } from "../../support/engine.ts";
import { Workplace } from "../../support/daemon.ts";
import { useKafka } from "../../support/kafka/use-kafka.ts";
import { heldOff } from "../engine/scene.ts";
import { type KafkaScene, quick, useScenes } from "./kafka-scene.ts";
import { span } from "../../support/span.ts";

vi.setConfig({ testTimeout: 60_000 });

const inScene = useScenes(useKafka());
let place: Workplace;

beforeEach(async () => {
  place = await Workplace.make();
});
afterEach(() => place.clean());

/** The scene's pipeline in a process of its own. */
async function startAlone(scene: KafkaScene): Promise<Daemon> {
  const config = scene.config();
  const { connection_params } = config.sink;
  const sink = { ...config.sink, connection_params: { ...connection_params, port: "9000" } };
  await place.write("orders.json", JSON.stringify({ ...config, sink }));
  const { sessionTimeout, heartbeatInterval } = quick;
  const session = ["--kafka-session-timeout", `${sessionTimeout}ms`];
  return place.start({
    args: ["--dir", place.pipelines, ...session, "--kafka-heartbeat-interval", `${heartbeatInterval}ms`],
  });
}

async function until(daemon: Daemon, id: string, isSo: (health: PipelineHealth) => boolean): Promise<PipelineHealth> {
  for (;;) {
    const health = (await daemon.health(id)) as unknown as PipelineHealth;
    if (isSo(health)) return health;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test("a process that was stopped while another took its place writes nothing when it goes on", () =>
  inScene(
    async (scene) => {
      const { pipeline_id } = scene;
      await scene.produce(1, 100);
      const first = await startAlone(scene);
      await scene.holds(span(1, 100));
      scene.proxy.decideInserts(() => heldOff);
      await scene.produce(101, 300);
      await until(first, pipeline_id, ({ pending_batches }) => pending_batches > 0);
      // Not amid an insert: what is on its way to the server when the process stops cannot be taken back.
      await vi.waitUntil(() => scene.proxy.inserts(heldOff.kind).length > 0, 60_000);
      process.kill(first.pid, "SIGSTOP");
      try {
        while ((await scene.kafka.groups.state(scene.group)) !== "Empty") {
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
        const second = await TestEngine.open({ kafka: quick });
        try {
          await second.engine.create(scene.config(), defaultOptions);
          const { paused } = await second.until(pipeline_id, (health) => health.paused?.class === "owner");
          const take_over = /run ([0-9a-f]{8})/.exec(paused!.text)![1]!;
          scene.proxy.decide();
          await second.engine.configure(pipeline_id, { ...defaultOptions, take_over });
          await scene.holds(span(1, 300));
          process.kill(first.pid, "SIGCONT");
          await until(first, pipeline_id, ({ paused: why, counters }) => {
            return why?.class === "owner" && counters.owner_checks > 0;
          });
          await scene.produce(301, 400);
          await scene.holds(span(1, 400));
        } finally {
          await second.close();
        }
      } finally {
        process.kill(first.pid, "SIGCONT");
      }
    },
    { partitions: 1 },
  ));
