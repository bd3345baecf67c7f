/** Faults of the replica that is read in place of the leaders, as it is in the rack of Sluice. */
import { setTimeout as sleep } from "node:timers/promises";
import { rackOf } from "../../support/kafka/cluster.ts";
import { until } from "../patience.ts";
import { type BrokerFault, safe } from "./fault.ts";
import type { BrokerScene } from "./scene.ts";

const closest = 1;
const flags = ["--kafka-rack", rackOf(closest)];
/** Longer than a replica that has failed is left alone, also one that has failed before. */
const patienceForReplica = 120_000;

/** Bytes that the pipeline has fetched so far. */
async function fetchedFrom({ daemon, pipeline }: BrokerScene, from: "leader" | "follower"): Promise<number> {
  const text = await daemon.get<string>("/metrics");
  const labels = `{pipeline_id="${pipeline.pipeline_id}",from="${from}"}`;
  const line = text.split("\n").find((one) => one.startsWith(`sluice_kafka_fetched_bytes_total${labels}`));
  return Number(line?.split(" ").at(-1) ?? 0);
}

/** The replica goes, under load, while it is read; the leaders deliver meanwhile, and it does again when it is back. */
function without(name: string, befall: (scene: BrokerScene) => Promise<void>): BrokerFault {
  return {
    name: `the closest replica ${name}`,
    times: 3,
    plans: [{ ...safe, perSecond: 400, padding: 500 }],
    flags,
    isRepeated: true,
    befall: async (scene) => {
      const { cluster, daemon, notes } = scene;
      const before = await fetchedFrom(scene, "follower");
      const hasGrown = async (from: number): Promise<boolean> => (await fetchedFrom(scene, "follower")) > from;
      await until(daemon, "to read from the closest replica", () => hasGrown(before), patienceForReplica);
      await befall(scene);
      await cluster.whole();
      const [leader, follower] = [await fetchedFrom(scene, "leader"), await fetchedFrom(scene, "follower")];
      // What is counted every ten seconds may have come before that: what is counted then has not.
      await until(daemon, "to count what it has read", () => hasGrown(follower), patienceForReplica);
      const counted = await fetchedFrom(scene, "follower");
      await until(daemon, "to read from the closest replica again", () => hasGrown(counted), patienceForReplica);
      notes.push(`${follower} bytes from followers and ${leader} from leaders`);
    },
  };
}

export const replicaFaults: readonly BrokerFault[] = [
  without("dies", async ({ cluster, random }) => {
    const broker = cluster.broker(closest);
    await (random.below(2) === 0 ? broker.end() : broker.kill());
    await sleep(1_000 + random.below(8_000));
    await broker.start();
  }),
  without("stands still, and lags", async ({ cluster, random }) => {
    const broker = cluster.broker(closest);
    broker.freeze();
    // Below and above the time after which the others take it for gone.
    await sleep(1_000 + random.below(8_000));
    broker.thaw();
  }),
];
