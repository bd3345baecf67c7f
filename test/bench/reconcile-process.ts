import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Registry } from "prom-client";
import { Repository } from "../../reconciler/git/repository.ts";
import type { Revision, RevisionSource } from "../../reconciler/git/revision.ts";
import { Reconciler } from "../../reconciler/reconciler.ts";
import type { Turn } from "../../reconciler/status/turn.ts";
import { cpu, note, type Measured } from "./reconcile-cost.ts";
import { openEngine, quiet, type WatchedEngine } from "./reconcile-engine.ts";
import { measureFloors } from "./reconcile-floor.ts";
import { measurePushes } from "./reconcile-push.ts";
import { PipelineRepository } from "./reconcile-repository.ts";

/** What one process measures. */
export interface Asked {
  files: number;
  engine: "real" | "model";
  rounds: number;
  /** Pushes of which the time until the engine is called is measured. */
  pushes: number;
}

/** Milliseconds that a turn may wait for its changes: all of them are measured. */
const applyTimeout = 600_000;
const signal = new AbortController().signal;

/** A source that notes when it gave a revision. */
class TimedSource implements RevisionSource {
  readonly #source: Repository;
  givenAt = 0;

  constructor(source: Repository) {
    this.#source = source;
  }

  get description(): RevisionSource["description"] {
    return this.#source.description;
  }

  async fetch(...args: Parameters<RevisionSource["fetch"]>): Promise<Revision> {
    const revision = await this.#source.fetch(...args);
    this.givenAt = performance.now();
    return revision;
  }

  close(): Promise<void> {
    return this.#source.close();
  }
}

/** Everything that is measured of so many files, in one process: a reconciler with its memory of earlier turns. */
async function measure({ files, engine: kind, rounds, pushes }: Asked): Promise<Measured> {
  const repository = await PipelineRepository.make(files);
  const dataDir = await mkdtemp(join(tmpdir(), "sluice-bench-data-"));
  const registry = new Registry();
  const watched = await openEngine(kind, dataDir, registry);
  const measured: Measured = {};
  try {
    const repo = { url: repository.path, path: "pipelines", dataDir, env: process.env };
    const source = new TimedSource(new Repository(repo));
    const { engine } = watched;
    const options = { source, engine, dataDir, log: quiet, registry, interval: 600_000, applyTimeout };
    const reconciler = new Reconciler(options);
    const turn = (name: string, makes: number): Promise<void> =>
      note(measured, name, async () => {
        assertMade(await reconciler.turn("poll", signal), makes, name);
        return source.givenAt;
      });
    await turn("cold: load, validate, create all", files);
    await atRest();
    for (let round = 0; round < rounds; round += 1) {
      await turn("no-op", 0);
      for (const changed of [0, 1, 100]) {
        await repository.change(changed);
        await turn(`commit of ${changed} changed files`, changed);
      }
      await note(measured, "scrape of /metrics", async () => void (await registry.metrics()));
      await note(measured, "status as JSON", async () => void JSON.stringify(reconciler.snapshot()));
    }
    await measurePushes(measured, { repository, reconciler, watched, registry, pushes });
    await measureFloors(measured, repository, rounds);
    return measured;
  } finally {
    await end(watched, repository, dataDir);
  }
}

async function end(watched: WatchedEngine, repository: PipelineRepository, dataDir: string): Promise<void> {
  await watched.close();
  await repository.remove();
  await rm(dataDir, { recursive: true, force: true });
}

/** Resolves when what the engine does by itself after a start, such as making tables, has ended; after a minute anyhow. */
async function atRest(): Promise<void> {
  for (let look = 0; look < 60; look += 1) {
    const before = cpu();
    await sleep(1000);
    if (cpu() - before < 0.1) return;
  }
}

function assertMade({ error, outcomes = [], desired }: Turn, makes: number, name: string): void {
  if (error !== undefined) throw error;
  const refused = desired?.refused[0];
  if (refused !== undefined) throw new Error(`${refused.file}: ${refused.problems[0]?.message}`);
  const other = outcomes.find(({ result }) => result !== "applied");
  if (outcomes.length === makes && other === undefined) return;
  throw new Error(`${name}: expected ${makes} changes, made ${outcomes.length}: ${JSON.stringify(other)}`);
}

console.log(JSON.stringify(await measure(JSON.parse(process.argv[2]!) as Asked)));
process.exit(0);
