import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Registry } from "prom-client";
import { Engine, silent, trialThreads } from "../../engine/index.ts";
import { PrivateListener } from "./listeners.ts";
import type { Found } from "./outcome.ts";
import type { NamedTest } from "./read-tests.ts";
import { type Push, type TestedPipeline, type Threads, Trial } from "./trial.ts";

/**
 * Runs pipelines on given events: on the real engine and the embedded ClickHouse, each with a database, a clock and a
 * log of its own. Connections of the files are not used, and so no secrets are.
 */
export class Trials {
  readonly #engine: Engine;
  readonly #threads: Threads;
  readonly #folder: string;
  readonly #webhook: PrivateListener;
  readonly #otlp: PrivateListener;
  #count = 0;

  private constructor(engine: Engine, threads: Threads, folder: string, listeners: [PrivateListener, PrivateListener]) {
    this.#engine = engine;
    this.#threads = threads;
    this.#folder = folder;
    [this.#webhook, this.#otlp] = listeners;
  }

  /**
   * Opens an engine in a folder that goes with it, for at most `jobs` runs at once: each has a thread of its own, so that a
   * fault ends no other. Throws an EngineError, such as CLICKHOUSE_MISSING.
   */
  static async open(registry: Registry, jobs: number): Promise<Trials> {
    const folder = await mkdtemp(join(tmpdir(), "sluice-test-"));
    let engine: Engine | undefined;
    const threads = await trialThreads();
    try {
      const secrets = { resolve: (text: string) => Promise.resolve(text) };
      const machine = { spawnThread: threads.spawn };
      const otlp = { arrivalOf: threads.timeOf };
      engine = await Engine.open({ dataDir: folder, log: silent, registry, secrets, machine, threads: jobs, otlp });
      await engine.sql("SYSTEM STOP MERGES");
      const listeners = [engine.handleEvents, engine.handleOtlpHttp].map((handle) => PrivateListener.open(handle));
      const [webhook, receiver] = await Promise.all(listeners);
      return new Trials(engine, threads, folder, [webhook!, receiver!]);
    } catch (error) {
      await engine?.close();
      threads.close();
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  /** Runs the events of a test through a pipeline. Never throws for what the pipeline or the test says. */
  async run(pipeline: TestedPipeline, test: NamedTest): Promise<Found> {
    this.#count += 1;
    const trial = new Trial(this.#engine, this.#threads, this.#push, pipeline, test, this.#count);
    return trial.run();
  }

  async close(): Promise<void> {
    await Promise.all([this.#webhook.close(), this.#otlp.close()]);
    await this.#engine.close();
    this.#threads.close();
    await rm(this.#folder, { recursive: true, force: true });
  }

  readonly #push: Push = (kind, path, body, headers) =>
    (kind === "webhook" ? this.#webhook : this.#otlp).post(path, body, headers);
}
