import type { TestKafka } from "../../support/kafka/test-kafka.ts";
import { Random } from "../../support/random.ts";
import { type Step, steps } from "../steps.ts";
import { brokenBy, heading, lineOf, missing } from "./report.ts";
import { ExternalScene, killed } from "./scene.ts";
import { serverSteps } from "./server-steps.ts";
import { externalVariants } from "./variants.ts";

export interface ExternalKills {
  /** Kills at random moments: of Sluice alone, of the server alone, and of both, so many each. */
  kills: number;
  seed: number;
  log: (line: string) => void;
}

/** The long form: all pipelines, killed at each step, then at random moments. Resolves with what must not be, and is. */
export async function killExternal(kafka: TestKafka, { kills, seed, log }: ExternalKills): Promise<string[]> {
  const scene = await ExternalScene.start({ variants: externalVariants, seed, kafka });
  try {
    const ofEachSource = scene.subjects.filter(
      ({ variant }) => !variant.dropsRepeats && variant.on_uncertain === "insert",
    );
    for (const subject of ofEachSource) {
      for (const step of Object.keys(steps) as Step[])
        if (step !== "after trim") await scene.killSluiceAt(step, subject);
      for (const step of serverSteps) await scene.killServerAt(step, subject);
      await scene.killServerWithoutRows(subject);
      await scene.killServerBetweenTokenAndRows();
      log(`${subject.pipeline_id}: killed at each step; ${scene.dropped} repeats dropped`);
    }
    const order = new Random(seed).shuffled(killed.flatMap((what) => Array.from({ length: kills }, () => what)));
    for (const [index, what] of order.entries())
      log(`kill ${index + 1} of ${order.length}: ${await scene.killAtRandom(what)}; ${scene.dropped} repeats dropped`);
    const reports = await scene.report();
    for (const text of [heading, ...reports.map(lineOf)]) log(text);
    return [...reports.flatMap(brokenBy), ...missing(reports, scene.dropped)];
  } finally {
    await scene.clean();
  }
}
