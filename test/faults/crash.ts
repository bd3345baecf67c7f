import { setTimeout as sleep } from "node:timers/promises";
import type { Daemon } from "../../examples/quickstart/daemon.ts";
import { childrenOf, freeListeners, pipelineFile, token, tokenEnv, Workplace } from "../support/daemon.ts";
import { Random } from "../support/random.ts";
import { CounterSums } from "./counter-sums.ts";
import { DuplicateCounter } from "./duplicate-counter.ts";
import { EventMix } from "./event-mix.ts";
import { findAll } from "./found.ts";
import { type Audit, Ledger } from "./ledger.ts";
import { Poster } from "./poster.ts";

export interface CrashOptions {
  kills: number;
  /** Milliseconds that each connection rests after a post; none by default. */
  rest?: number;
  log?: (line: string) => void;
}

export interface CrashReport extends Audit {
  kills: number;
  /** Batches taken from the journal after a kill. */
  replayed: number;
  /** Inserts that the server dropped as repeats (`DuplicatedInsertedBlocks`). */
  dropped: number;
}

const pipeline_id = "crash-test";

/**
 * Posts events without a pause while `sluice run` is killed with SIGKILL at random moments, and once the ClickHouse
 * child alone; then counts. Every tenth event is bad and must be a dead letter.
 */
export async function crash(options: CrashOptions): Promise<CrashReport> {
  const { kills, rest = 0, log = () => undefined } = options;
  const place = await Workplace.make();
  try {
    await place.write("crash.yaml", pipelineFile(pipeline_id));
    const start = { listeners: await freeListeners(), env: tokenEnv };
    let daemon = await place.start(start);
    const ledger = new Ledger();
    const mix = new EventMix(new Random(0), { withBad: true, repeats: 0 });
    const poster = new Poster({ url: daemon.events, pipeline_id, token, mix, ledger, rest });
    await reading(daemon);
    const duplicates = new DuplicateCounter();
    const counters = new CounterSums();
    for (let kill = 1; kill <= kills; kill += 1) {
      await sleep(200 + Math.random() * 1000);
      await duplicates.sample(daemon);
      if (kill === Math.ceil(kills / 2)) await killClickHouse(daemon, log);
      await sleep(Math.random() * 300);
      await counters.sample(daemon, pipeline_id);
      await daemon.stop("SIGKILL");
      daemon = await place.start(start);
      await reading(daemon);
      await duplicates.sample(daemon);
      log(`kill ${kill} of ${kills}: ${duplicates.total} repeated inserts dropped`);
    }
    await poster.stop();
    await daemon.settled(pipeline_id);
    await duplicates.sample(daemon);
    await counters.sample(daemon, pipeline_id);
    const audit = ledger.audit(await findAll(daemon, pipeline_id), false);
    await daemon.stop();
    const replayed = counters.of(pipeline_id)["batches_replayed"] ?? 0;
    return { ...audit, kills, replayed, dropped: duplicates.total };
  } finally {
    await place.clean();
  }
}

/** Resolves when the pipeline reads new events, and so has dealt with what an earlier process had prepared. */
async function reading(daemon: Daemon): Promise<void> {
  await daemon.until(
    async () => ((await daemon.health(pipeline_id)).counters.events_read > 0 ? true : undefined),
    "to read events",
  );
}

async function killClickHouse(daemon: Daemon, log: (line: string) => void): Promise<void> {
  const pids = childrenOf(daemon.pid, "clickhouse.js");
  if (pids.length !== 1) throw new Error(`expected one ClickHouse child of ${daemon.pid}, found ${pids.length}`);
  process.kill(pids[0]!, "SIGKILL");
  const before = (await daemon.health(pipeline_id)).counters.rows_written;
  await daemon.until(
    async () => ((await daemon.health(pipeline_id)).counters.rows_written > before ? true : undefined),
    "to write again after its ClickHouse was killed",
  );
  log(`ClickHouse child ${pids[0]} killed; rows are written again`);
}
