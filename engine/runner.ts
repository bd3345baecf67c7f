import { availableParallelism } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { backOff } from "./core/back-off.ts";
import type { PipelineConfig } from "../schemas/pipeline.ts";
import type { StoreJournal } from "./state/journal.ts";
import type { LetterEvent } from "./assembler.ts";
import { letterEvent } from "./reprocessing.ts";
import type { Catalog, CatalogEntry } from "./state/catalog.ts";
import type { DeadLetters } from "./state/dead-letters.ts";
import { EngineError } from "./core/errors.ts";
import { isPassing } from "./state/storage-error.ts";
import { isPushed } from "./pushed.ts";
import { EmbeddedHost } from "./embedded-host.ts";
import type { StreamShelf } from "./stream-shelf.ts";
import { resolveSecrets, type SecretSource } from "./secrets.ts";
import type { Log } from "./telemetry/log.ts";
import { UsedSecrets } from "./used-secrets.ts";
import type { Recorder } from "./telemetry/recorder.ts";
import type { PipelineSpec } from "./thread/protocol.ts";
import { ThreadPool } from "./thread/pool.ts";

export interface RunnerOptions {
  catalog: Catalog;
  journal: StoreJournal;
  letters: DeadLetters;
  streams: StreamShelf;
  embedded: EmbeddedHost;
  /** Who reads from Kafka, and how. */
  kafka: PipelineSpec["kafka"];
  secrets: SecretSource;
  recorder: Recorder;
  log: Log;
  /** Opens the stream of a pipeline that has one, where it is not open yet. */
  openStream(entry: CatalogEntry): Promise<void>;
  threads?: number;
  /** A running pipeline ended with what no wait can mend. */
  onFailed(pipeline_id: string, error: Error): void;
}

const firstRelaunchWait = 500;
const longestRelaunchWait = 60_000;

/**
 * Keeps the pipelines that should run running: starts them on a thread from catalog and journal, and again after their
 * thread died or a secret was missing, with back-off. Which ones should run is the engine's business.
 */
export class Runner {
  readonly #options: RunnerOptions;
  readonly #pool: ThreadPool;
  /** Pipelines that should run, with what ends their waiting. */
  readonly #wanted = new Map<string, AbortController>();
  /** The last start or end of each pipeline. */
  readonly #turns = new Map<string, Promise<unknown>>();
  /** What the pipelines that run were started with. */
  readonly used: Pick<UsedSecrets, "stale">;
  readonly #used: UsedSecrets;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#used = new UsedSecrets(options.secrets);
    this.used = this.#used;
    this.#pool = new ThreadPool({
      size: options.threads ?? Math.max(1, Math.min(4, availableParallelism() - 1)),
      journal: options.journal,
      telemetry: options.recorder,
      log: options.log,
      onCommitted: (record) => {
        options.recorder.batchCommitted(record);
        const { pipeline_id } = record;
        if (options.streams.has(pipeline_id)) {
          options.streams.settled(pipeline_id, options.journal.settledUpTo(pipeline_id));
        }
      },
      onLeft: (pipeline_id, error, threadDied) => this.#left(pipeline_id, error, threadDied),
    });
    options.streams.onAppended = (pipeline_id, last) => this.#pool.arrived(pipeline_id, last);
    options.embedded.onMoved = () => void this.#relaunchEmbedded();
  }

  /** Starts a pipeline. Throws what keeps it from starting: a missing secret, or a config that no line can be made of. */
  async start(pipeline_id: string): Promise<void> {
    const { signal } = this.#want(pipeline_id);
    try {
      await this.#launch(pipeline_id, signal);
    } catch (error) {
      this.#unwant(pipeline_id);
      throw error;
    }
  }

  /** Starts a pipeline of an earlier process, trying again by itself for as long as it is wanted. */
  restart(pipeline_id: string): void {
    void this.#keepTrying(pipeline_id, this.#want(pipeline_id).signal);
  }

  /** Ends a pipeline after draining it for at most `limit` milliseconds. */
  async stop(pipeline_id: string, limit: number): Promise<void> {
    this.#unwant(pipeline_id);
    await this.#inTurn(pipeline_id, () => this.#pool.stop(pipeline_id, limit));
  }

  /** Ends a pipeline at once, also one that is draining. */
  async abort(pipeline_id: string): Promise<void> {
    this.#unwant(pipeline_id);
    await this.#pool.abort(pipeline_id);
    await this.#inTurn(pipeline_id, () => this.#pool.abort(pipeline_id));
  }

  /** Ends a pipeline and starts it again with its present entry; its status does not change. */
  async relaunch(pipeline_id: string): Promise<void> {
    const wanted = this.#wanted.get(pipeline_id);
    if (wanted === undefined) return;
    this.#used.forget(pipeline_id);
    await this.#inTurn(pipeline_id, () => this.#pool.abort(pipeline_id));
    void this.#keepTrying(pipeline_id, wanted.signal);
  }

  /** Sends dead letters through a running pipeline again; resolves when their batch is prepared. */
  reprocess(pipeline_id: string, letters: LetterEvent[]): Promise<void> {
    return this.#pool.reprocess(pipeline_id, letters);
  }

  /** Does something to a pipeline while it does not run; nothing where it does. */
  async atRest(pipeline_id: string, work: () => Promise<void>): Promise<void> {
    await this.#inTurn(pipeline_id, async () => {
      if (!this.#wanted.has(pipeline_id)) await work();
    });
  }

  async close(limit: number): Promise<void> {
    for (const pipeline_id of this.#wanted.keys()) this.#unwant(pipeline_id);
    await this.#pool.close(limit);
  }

  #want(pipeline_id: string): AbortController {
    const wanted = new AbortController();
    this.#wanted.set(pipeline_id, wanted);
    return wanted;
  }

  #unwant(pipeline_id: string): void {
    this.#wanted.get(pipeline_id)?.abort();
    this.#wanted.delete(pipeline_id);
    this.#used.forget(pipeline_id);
  }

  /** Starts and ends of one pipeline follow each other: two of it at once would write everything twice. */
  #inTurn<T>(pipeline_id: string, work: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(pipeline_id) ?? Promise.resolve();
    const turn = before.then(work, work);
    this.#turns.set(
      pipeline_id,
      turn.catch(() => undefined),
    );
    return turn;
  }

  #launch(pipeline_id: string, signal: AbortSignal): Promise<void> {
    return this.#inTurn(pipeline_id, async () => {
      const entry = this.#options.catalog.get(pipeline_id);
      if (entry === undefined || signal.aborted) return;
      await this.#pool.start(await this.#spec(entry));
      const { streams } = this.#options;
      // Events that came in while the thread was starting.
      if (streams.has(pipeline_id)) this.#pool.arrived(pipeline_id, streams.get(pipeline_id).state.last);
    });
  }

  async #keepTrying(pipeline_id: string, signal: AbortSignal): Promise<void> {
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      try {
        await this.#launch(pipeline_id, signal);
        for (const kind of ["setup", "disk"] as const) {
          this.#options.recorder.wentOn({ pipeline_id, class: kind, seconds: 0 });
        }
        return;
      } catch (error) {
        if (this.#isDamaged(pipeline_id, error)) {
          this.#left(pipeline_id, error as Error, false);
          return;
        }
        this.#pause(pipeline_id, error as Error);
      }
      const wait = backOff(attempt, firstRelaunchWait, longestRelaunchWait);
      await sleep(wait, undefined, { signal }).catch(() => undefined);
    }
  }

  #pause(pipeline_id: string, error: Error): void {
    const since = new Date().toISOString();
    const kind = isPassing(error) ? "disk" : "setup";
    const way_out = "correct what is named; the start is tried again by itself within a minute";
    this.#options.recorder.paused({ pipeline_id, pause: { class: kind, since, text: error.message, way_out } });
  }

  /** Whether it cannot start because its stream is damaged, which no wait mends. */
  #isDamaged(pipeline_id: string, error: unknown): boolean {
    const { catalog, streams } = this.#options;
    const entry = catalog.get(pipeline_id);
    const isClosed = entry !== undefined && isPushed(entry.config) && !streams.has(pipeline_id);
    return isClosed && error instanceof EngineError && error.code === "STORAGE_FAILED";
  }

  #left(pipeline_id: string, error: Error, threadDied: boolean): void {
    const wanted = this.#wanted.get(pipeline_id);
    if (wanted === undefined) return;
    if (threadDied) {
      void this.#keepTrying(pipeline_id, wanted.signal);
      return;
    }
    this.#unwant(pipeline_id);
    this.#options.onFailed(pipeline_id, error);
  }

  async #relaunchEmbedded(): Promise<void> {
    for (const pipeline_id of this.#wanted.keys()) {
      const entry = this.#options.catalog.get(pipeline_id);
      if (entry !== undefined && isEmbedded(entry.config)) await this.relaunch(pipeline_id);
    }
  }

  async #spec(entry: CatalogEntry): Promise<PipelineSpec> {
    const { pipeline_id, config, revision, options } = entry;
    const { journal, streams, embedded, secrets, kafka } = this.#options;
    const resolved = await resolveSecrets(config, secrets);
    if (this.#wanted.has(pipeline_id)) this.#used.note(pipeline_id, config, resolved);
    await this.#options.openStream(entry);
    const pending = journal.pending(pipeline_id);
    return {
      pipeline_id,
      config: resolved,
      revision,
      options,
      ...(isEmbedded(config) ? { embedded: await embedded.connection() } : {}),
      kafka,
      ...(isPushed(config)
        ? { stream: { folder: streams.folder(pipeline_id), end: streams.get(pipeline_id).state.last } }
        : {}),
      progress: journal.progress(pipeline_id),
      pending,
      salt: await journal.salt(pipeline_id),
      letters: this.#letters(pipeline_id, pending),
      revisions: this.#earlier(pipeline_id, revision, pending, resolved),
    };
  }

  #letters(pipeline_id: string, pending: PipelineSpec["pending"]): LetterEvent[] {
    return pending.flatMap(({ letters = [] }) =>
      letters.flatMap((number) => {
        const letter = this.#options.letters.get(pipeline_id, number);
        return letter === undefined ? [] : [letterEvent(letter)];
      }),
    );
  }

  /** What pending batches were made by, with the connection of today: a mended password helps them too. */
  #earlier(
    pipeline_id: string,
    revision: number,
    pending: PipelineSpec["pending"],
    resolved: PipelineConfig,
  ): [number, PipelineConfig][] {
    const named = new Set(pending.map((record) => record.revision).filter((of) => of !== revision));
    const { connection_params } = resolved.sink;
    return [...named].flatMap((of): [number, PipelineConfig][] => {
      const config = this.#options.catalog.revision(pipeline_id, of);
      return config === undefined ? [] : [[of, { ...config, sink: { ...config.sink, connection_params } }]];
    });
  }
}

function isEmbedded({ sink }: PipelineConfig): boolean {
  return sink.connection_params.host === "embedded";
}
