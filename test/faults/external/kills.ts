import type { TestKafka } from "../../support/kafka/test-kafka.ts";
import { Random } from "../../support/random.ts";
import { brokenBy, heading, lineOf, missing } from "./report.ts";
import { ExternalScene, killed } from "./scene.ts";
import { externalVariants } from "./variants.ts";

export interface ExternalKills {
  /** Kills at random moments: of Sluice alone, of the server alone, and of both, so many each. */
  kills: number;
  seed: number;
  log: (line: string) => void;
}

/** From so many kills of each kind on, a run must have met what no single kill brings about for sure. */
const longRun = 10;

/** The long form: all pipelines, killed at random moments. Resolves with what must not be, and is. */
export async function killExternal(kafka: TestKafka, { kills, seed, log }: ExternalKills): Promise<string[]> {
  const scene = await ExternalScene.start({ variants: externalVariants, seed, kafka });
  try {
    const order = new Random(seed).shuffled(killed.flatMap((what) => Array.from({ length: kills }, () => what)));
    for (const [index, what] of order.entries())
      log(`kill ${index + 1} of ${order.length}: ${await scene.killAtRandom(what)}; ${scene.dropped} repeats dropped`);
    const reports = await scene.report();
    for (const text of [heading, ...reports.map(lineOf)]) log(text);
    return [...reports.flatMap(brokenBy), ...missing(reports, scene.dropped, kills >= longRun)];
  } finally {
    await scene.clean();
  }
}
