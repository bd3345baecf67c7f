import { setTimeout as sleep } from "node:timers/promises";
import type { Daemon } from "../../examples/quickstart/daemon.ts";
import { freeAddress } from "../support/ports.ts";
import { freeListeners, Workplace } from "../support/daemon.ts";
import { Random } from "../support/random.ts";
import { CounterSums } from "./counter-sums.ts";
import { DuplicateCounter } from "./duplicate-counter.ts";
import { OtlpLoad } from "./otlp-load.ts";
import { type OtlpKillReport, reportOf } from "./otlp-report.ts";
import { otlpFileOf, otlpVariants, type OtlpVariant } from "./otlp-variants.ts";

export interface OtlpKills {
  kills: number;
  /** Inserts that the server dropped as repeats, of all pipelines. */
  dropped: number;
  reports: OtlpKillReport[];
}

interface Subject {
  variant: OtlpVariant;
  load: OtlpLoad;
}

/**
 * Kills `sluice run` with SIGKILL at random moments, also while it recovers from the kill before, while exporters send log
 * records to an OTLP pipeline with dedup and to one without. Then it counts.
 */
export async function killUnderExporters(options: {
  kills: number;
  /** At once, for each pipeline. */
  exporters?: number;
  /** Records of a request, at the most. */
  mostRecords?: number;
  seed: number;
  log?: (line: string) => void;
}): Promise<OtlpKills> {
  const { kills, exporters = 20, mostRecords, seed, log = () => undefined } = options;
  const place = await Workplace.make();
  const random = new Random(seed);
  const otlp = { otlpGrpc: await freeAddress(), otlpHttp: await freeAddress() };
  const start = { listeners: { ...(await freeListeners()), ...otlp } };
  let subjects: Subject[] = [];
  try {
    for (const variant of otlpVariants) await place.write(`${variant.pipeline_id}.yaml`, otlpFileOf(variant));
    let daemon = await place.start(start);
    for (const { pipeline_id } of otlpVariants) await daemon.until(() => daemon.health(pipeline_id), "to have it");
    subjects = otlpVariants.map((variant) => ({
      variant,
      load: new OtlpLoad({ variant, otlp, random, exporters, ...(mostRecords && { mostRecords }) }),
    }));
    const sums = new Sums();
    for (let kill = 1; kill <= kills; kill += 1) {
      const isRecovered = kill === 1 || random.below(3) > 0;
      if (isRecovered) await reading(daemon);
      const milliseconds = random.below(1000);
      await sleep(milliseconds);
      if (isRecovered) await sums.sample(daemon);
      if (isRecovered) await underWay(subjects);
      await daemon.stop("SIGKILL");
      daemon = await place.start(start);
      const unclear = subjects.map(({ load }) => load.ledger.unclear).join(" and ");
      const since = isRecovered ? "recovery" : "start";
      log(`kill ${kill} of ${kills}, ${milliseconds} ms after its ${since}: ${unclear} requests unclear`);
    }
    await reading(daemon);
    await Promise.all(subjects.map(({ load }) => load.stop()));
    for (const { pipeline_id } of otlpVariants) await daemon.settled(pipeline_id);
    await sums.sample(daemon);
    const reports: OtlpKillReport[] = [];
    for (const { variant, load } of subjects)
      reports.push(await reportOf({ variant, ledger: load.ledger }, daemon, sums.counters));
    await daemon.stop();
    return { kills, dropped: sums.duplicates.total, reports };
  } finally {
    await place.clean();
    await Promise.all(subjects.map(({ load }) => load.giveUp()));
  }
}

/** What all processes counted together. */
class Sums {
  readonly counters = new CounterSums();
  readonly duplicates = new DuplicateCounter();

  async sample(daemon: Daemon): Promise<void> {
    for (const { pipeline_id } of otlpVariants) await this.counters.sample(daemon, pipeline_id);
    await this.duplicates.sample(daemon);
  }
}

/** Resolves when several requests wait for their answers, which a kill then takes. */
async function underWay(subjects: readonly Subject[]): Promise<void> {
  const waiting = (): number => subjects.reduce((sum, { load }) => sum + load.ledger.waiting, 0);
  while (waiting() < 3) await sleep(1);
}

/** Resolves when all pipelines read new records, and so have taken up what an earlier process had prepared. */
async function reading(daemon: Daemon): Promise<void> {
  for (const { pipeline_id } of otlpVariants) {
    await daemon.until(
      async () => ((await daemon.health(pipeline_id)).counters.rows_written > 0 ? true : undefined),
      `to write records of ${pipeline_id}`,
    );
  }
}
