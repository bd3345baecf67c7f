import { setTimeout as sleep } from "node:timers/promises";
import type { Daemon } from "../../examples/quickstart/daemon.ts";
import { childrenOf, freeListeners, pipelineFile, token, tokenEnv, Workplace } from "../support/daemon.ts";
import { DuplicateCounter } from "./duplicate-counter.ts";
import { Poster } from "./poster.ts";

export interface CrashReport {
  kills: number;
  /** Events answered 202. */
  accepted: number;
  /** Events whose answer was lost with the process: they may be there once or not at all. */
  unanswered: number;
  rows: number;
  deadLetters: number;
  /** Ids of accepted events that are nowhere. */
  lost: string[];
  /** Ids that are there more than once, rows and dead letters together. */
  doubled: string[];
  /** Ids that are there and were never sent. */
  strangers: string[];
  /** Batches taken from the journal after a kill. */
  replayed: number;
  /** Inserts that the server dropped as repeats (`DuplicatedInsertedBlocks`). */
  dropped: number;
}

const pipeline_id = "crash-test";

/**
 * Posts events without a pause while `sluice run` is killed with SIGKILL at random moments, and once the ClickHouse
 * child alone; then counts. Every tenth event breaks the schema and must be a dead letter.
 */
export async function crash(options: { kills: number; log?: (line: string) => void }): Promise<CrashReport> {
  const { kills, log = () => undefined } = options;
  const place = await Workplace.make();
  try {
    await place.write("crash.yaml", pipelineFile(pipeline_id));
    const start = { listeners: await freeListeners(), env: tokenEnv };
    let daemon = await place.start(start);
    const poster = new Poster(`${daemon.events}/v1/pipelines/${pipeline_id}/topics/input/events`, token);
    await reading(daemon);
    const duplicates = new DuplicateCounter();
    let replayed = 0;
    for (let kill = 1; kill <= kills; kill += 1) {
      await sleep(200 + Math.random() * 1000);
      await duplicates.sample(daemon);
      if (kill === Math.ceil(kills / 2)) await killClickHouse(daemon, log);
      await sleep(Math.random() * 300);
      replayed += (await daemon.health(pipeline_id)).counters.batches_replayed;
      await daemon.stop("SIGKILL");
      daemon = await place.start(start);
      await reading(daemon);
      await duplicates.sample(daemon);
      log(`kill ${kill} of ${kills}: ${poster.accepted.size} accepted, ${duplicates.total} repeated inserts dropped`);
    }
    await poster.stop();
    await daemon.settled(pipeline_id);
    await duplicates.sample(daemon);
    replayed += (await daemon.health(pipeline_id)).counters.batches_replayed;
    const report = await count(daemon, poster, kills);
    await daemon.stop();
    return { ...report, replayed, dropped: duplicates.total };
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

async function count(
  daemon: Daemon,
  poster: Poster,
  kills: number,
): Promise<Omit<CrashReport, "replayed" | "dropped">> {
  const seen = new Map<string, number>();
  const table = await daemon.command("sql", "SELECT id, count() FROM crash_test GROUP BY id", "--format", "TSV");
  let rows = 0;
  for (const line of table.split("\n").filter((one) => one !== "")) {
    const [id = "", times = ""] = line.split("\t");
    rows += Number(times);
    seen.set(id, Number(times));
  }
  const letters = await deadLetterIds(daemon);
  for (const id of letters) seen.set(id, (seen.get(id) ?? 0) + 1);
  return {
    kills,
    accepted: poster.accepted.size,
    unanswered: poster.unanswered.size,
    rows,
    deadLetters: letters.length,
    lost: [...poster.accepted].filter((id) => !seen.has(id)),
    doubled: [...seen].filter(([, times]) => times > 1).map(([id]) => id),
    strangers: [...seen.keys()].filter((id) => !poster.accepted.has(id) && !poster.unanswered.has(id)),
  };
}

async function deadLetterIds(daemon: Daemon): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string[] = []; ;) {
    const text = await daemon.command("dlq", "list", pipeline_id, ...cursor, "--limit", "1000", "--output", "json");
    const page = JSON.parse(text) as { messages: { original_message: string }[]; next_cursor?: string };
    for (const { original_message } of page.messages) ids.push((JSON.parse(original_message) as { id: string }).id);
    if (page.next_cursor === undefined) return ids;
    cursor = [page.next_cursor];
  }
}
