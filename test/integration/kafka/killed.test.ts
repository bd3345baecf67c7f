import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Daemon } from "../../../examples/quickstart/daemon.ts";
import { Workplace } from "../../support/daemon.ts";
import { useKafka } from "../../support/kafka/use-kafka.ts";
import { type KafkaScene, useScenes } from "./kafka-scene.ts";
import { span } from "../../support/span.ts";

vi.setConfig({ testTimeout: 120_000 });

const inScene = useScenes(useKafka());
let place: Workplace;

beforeEach(async () => {
  place = await Workplace.make();
});
afterEach(() => place.clean());

/** Longer than any machine takes for the test: what waits for its end waits too long. */
const session = ["--kafka-session-timeout", "5m"];

/** The scene's pipeline in a process of its own. */
async function startAlone(scene: KafkaScene): Promise<Daemon> {
  const config = scene.config();
  const { connection_params } = config.sink;
  const sink = { ...config.sink, connection_params: { ...connection_params, port: "9000" } };
  await place.write("orders.json", JSON.stringify({ ...config, sink }));
  return place.start({ args: ["--dir", place.pipelines, ...session] });
}

/** The members of the scene's group as its coordinator describes them. */
async function membersOf({ kafka, group }: KafkaScene): Promise<{ clientId: string; memberId: string }[]> {
  const { groups } = await kafka.withAdmin((admin) => admin.describeGroups([group]));
  return groups[0]!.members;
}

test("a run that was killed leaves a place that the next run takes while the session is open, and leaves when it stops", () =>
  inScene(async (scene) => {
    await scene.produce(1, 100);
    const first = await startAlone(scene);
    await scene.holds(span(1, 100));
    const [ghost] = await membersOf(scene);
    await first.stop("SIGKILL");
    await scene.produce(101, 200);
    const second = await startAlone(scene);
    await scene.holds(span(1, 200));
    const members = await membersOf(scene);
    // A member that came after the end of the session would have the client id of its own run.
    expect(members.map(({ clientId }) => clientId)).toEqual([ghost!.clientId]);
    expect(members[0]!.memberId).not.toBe(ghost!.memberId);
    await second.stop();
    expect(await membersOf(scene)).toEqual([]);
  }));
