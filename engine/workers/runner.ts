import { availableParallelism } from "node:os";
import { LeftForLater } from "../core/errors.ts";
import { sleep } from "../flow/sleep.ts";
import { waitAtMost } from "../flow/wait-at-most.ts";
import { durationMs } from "../../schemas/duration.ts";
import type { EngineOptions, PipelineConfig, RewindTo } from "../../schemas/pipeline.ts";
import { type Pause, waysOut } from "../core/pause.ts";
import type { Readiness } from "../core/readiness.ts";
import type { RewoundPartition } from "../core/positions.ts";
import { lettersOf } from "../core/journal.ts";
import type { SourceSample } from "../event/newest-events.ts";
import type { StoreJournal } from "../state/journal.ts";
import type { LetterEvent } from "../core/dead-letter.ts";
import { letterEvent } from "../catalog/reprocess.ts";
import type { Catalog, CatalogEntry } from "../catalog/catalog.ts";
import type { DeadLetters } from "../state/dead-letters.ts";
import { isPassing } from "../state/storage-error.ts";
import { isPushed } from "../sources/registry.ts";
import type { EmbeddedServer } from "../embedded-clickhouse/lazy-embedded-clickhouse.ts";
import type { Streams } from "../streams/streams.ts";
import { checkToken } from "../catalog/access-tokens.ts";
import { checkTargets } from "../catalog/targets.ts";
import { foreignText } from "../peers/foreign-text.ts";
import type { TargetRules } from "../peers/targets.ts";
import { resolveSecrets, type SecretSource, SecretsInUse, withoutSecrets } from "../catalog/secrets.ts";
import type { Log } from "../telemetry/log.ts";
import type { Recorder } from "../telemetry/recorder.ts";
import type { PipelineSpec, WorkerLike } from "./protocol.ts";
import type { Placement } from "./placement.ts";
import { holdPause, ThreadPool } from "./pool.ts";
import { StartQueue } from "./start-queue.ts";
import { Supervisor } from "./supervisor.ts";
import type { ThreadDeaths } from "./thread-deaths.ts";

export interface RunnerOptions {
  catalog: Catalog;
  journal: StoreJournal;
  letters: DeadLetters;
  streams: Streams;
  embedded: EmbeddedServer;
  /** The names of this process in Kafka groups, and the settings of Kafka. */
  kafka: PipelineSpec["kafka"];
  secrets: SecretSource;
  /** Which servers pipelines may connect to. */
  targets: TargetRules;
  recorder: Recorder;
  log: Log;
  /** Opens the stream of a pipeline that has one, where it is not open yet. */
  openStream(entry: CatalogEntry): Promise<void>;
  threads?: number;
  /** Starts a thread that runs pipelines. */
  spawnThread: () => WorkerLike;
  /** A running pipeline ended with an error that no retry mends. */
  onFailed(pipeline_id: string, error: Error): void;
}

/** So many pipelines of an earlier process are started at once. */
const startsAtOnce = 8;
/** A start whose source or target does not answer keeps the others waiting for so long, in milliseconds. */
const longestTurn = 1_000;
/** How long `close` waits beyond its limit for a pipeline that does not leave, in milliseconds. */
const closeGrace = 1_000;

/**
 * Runs pipelines: starts them on a thread from catalog and journal, and again with back-off after their thread died or a
 * secret was missing. The engine decides which ones run; each has one supervisor, which alone starts and ends it.
 */
export class Runner {
  readonly #options: RunnerOptions;
  readonly #pool: ThreadPool;
  /** Of pipelines that run, or on which work at rest is done. */
  readonly #supervisors = new Map<string, Supervisor>();
  /** The secrets that the running pipelines were started with. */
  readonly secretsInUse: Pick<SecretsInUse, "stale">;
  readonly #secretsInUse: SecretsInUse;
  readonly #starts: StartQueue;
  /** Pipelines of an earlier process that were not launched yet. */
  readonly #restarted = new Set<string>();
  #isClosed = false;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#secretsInUse = new SecretsInUse(options.secrets);
    this.secretsInUse = this.#secretsInUse;
    this.#starts = new StartQueue(startsAtOnce, (pipeline_id) => this.#hasWork(pipeline_id));
    this.#pool = new ThreadPool({
      size: options.threads ?? Math.max(1, Math.min(4, availableParallelism() - 1)),
      journal: options.journal,
      telemetry: options.recorder,
      log: options.log,
      spawn: options.spawnThread,
      onCommitted: (record) => {
        options.recorder.batchCommitted(record);
        const { pipeline_id } = record;
        if (options.streams.has(pipeline_id)) {
          options.streams.settled(pipeline_id, options.journal.settledUpTo(pipeline_id));
        }
      },
    });
    options.streams.onAppended = (pipeline_id, last) => this.#pool.arrived(pipeline_id, last);
  }

  /**
   * Starts a pipeline; resolves when it runs. Throws the error that keeps it from starting: a missing secret, or a
   * config that cannot be compiled; and LeftForLater where it is ended meanwhile.
   */
  start(pipeline_id: string): Promise<void> {
    return this.#with(pipeline_id, (supervisor) => supervisor.start());
  }

  /** Starts a pipeline of an earlier process, and retries for as long as it should run. */
  restart(pipeline_id: string): void {
    this.#restarted.add(pipeline_id);
    void this.#with(pipeline_id, async (supervisor) => supervisor.restart());
  }

  /** Ends a pipeline after draining it for at most `limit` milliseconds. */
  stop(pipeline_id: string, limit: number): Promise<void> {
    return this.#with(pipeline_id, (supervisor) => supervisor.stop(limit));
  }

  /** Ends a pipeline at once, also one that is draining. */
  abort(pipeline_id: string): Promise<void> {
    return this.#with(pipeline_id, (supervisor) => supervisor.abort());
  }

  /** Ends a pipeline and launches it again with its present entry; its status does not change. Does nothing at rest. */
  relaunch(pipeline_id: string): Promise<void> {
    return this.#with(pipeline_id, (supervisor) => supervisor.relaunch());
  }

  /** Sends dead letters through a running pipeline again; resolves when their batch is prepared. */
  reprocess(pipeline_id: string, letters: LetterEvent[]): Promise<void> {
    return this.#pool.reprocess(pipeline_id, letters);
  }

  /**
   * Whether a pipeline could run with this config and these options: its secrets resolve, it compiles, its target takes
   * its rows and its source can be read. Changes nothing. Throws LeftForLater where the process ends.
   */
  async check(config: PipelineConfig, options: EngineOptions): Promise<Readiness> {
    const { secrets, targets, embedded, kafka } = this.#options;
    let resolved: PipelineConfig;
    try {
      checkTargets(config, targets);
      if (options.access_token !== undefined) await checkToken(options.access_token, config, secrets);
      resolved = await resolveSecrets(config, secrets);
    } catch (error) {
      return { kind: "refused", text: foreignText(error) };
    }
    const connection = isEmbedded(config) ? await embedded.connection() : undefined;
    const { pipeline_id } = config;
    const spec = { pipeline_id, config: resolved, options, kafka, targets };
    return this.#pool.check({ ...spec, ...(connection !== undefined && { embedded: connection }) });
  }

  /**
   * The newest events that a pipeline has not settled of its stream, or those of its topics, at most `count`. Takes none
   * out. Throws SAMPLE_FAILED, STORAGE_UNAVAILABLE, and SECRET_NOT_FOUND, SECRET_NOT_ALLOWED, TARGET_NOT_ALLOWED, ADDRESS_INVALID.
   */
  async sample({ pipeline_id, config }: CatalogEntry, count: number): Promise<SourceSample> {
    const { secrets, targets, kafka, streams, journal } = this.#options;
    if (isPushed(config)) {
      const { last, first } = streams.state(pipeline_id) ?? streams.get(pipeline_id).state;
      const from = Math.max(first, journal.settledUpTo(pipeline_id) + 1);
      const stream = { folder: streams.folder(pipeline_id), first: from, last };
      return this.#pool.sample({ config, kafka, stream, count });
    }
    checkTargets(config, targets);
    return this.#pool.sample({ config: await resolveSecrets(config, secrets), kafka, targets, count });
  }

  /** What a rewind of a pipeline reads again. Throws REWIND_REFUSED where that cannot be told, and as `sample`. */
  async rewound({ pipeline_id, config }: CatalogEntry, to: RewindTo): Promise<RewoundPartition[]> {
    const { secrets, targets, kafka, journal } = this.#options;
    checkTargets(config, targets);
    const windows = config.transforms.flatMap((one) =>
      one.type === "dedup" ? durationMs(one.config.time_window) : [],
    );
    const window = windows.length === 0 ? {} : { window: Math.max(...windows) };
    const request = { pipeline_id, to, progress: journal.progress(pipeline_id), ...window };
    return this.#pool.rewind({ config: await resolveSecrets(config, secrets), kafka, targets, request });
  }

  /** Starts a pipeline that is at rest and should run, and retries; does nothing where it runs, or the process ends. */
  async startAgain(pipeline_id: string): Promise<void> {
    if (this.#isClosed) return;
    await this.#with(pipeline_id, async (supervisor) => {
      if (!supervisor.isWanted) supervisor.restart();
    });
  }

  /** Does something to a pipeline at rest; does nothing, and resolves with false, where it should run. */
  atRest(pipeline_id: string, work: () => Promise<void>): Promise<boolean> {
    return this.#with(pipeline_id, (supervisor) => supervisor.atRest(work));
  }

  /** Ends every pipeline, draining for at most `limit` milliseconds, and the threads. From now on it starts none. */
  async close(limit: number): Promise<void> {
    this.#isClosed = true;
    const ends = Promise.all([...this.#supervisors.values()].map((supervisor) => supervisor.stop(limit)));
    const late = new AbortController();
    await Promise.race([ends, sleep(limit + closeGrace, late.signal)]);
    late.abort();
    // A pipeline that has not left by now ends with its thread; the next start goes on from its journal.
    await this.#pool.close();
    await ends;
  }

  /** Calls the supervisor of a pipeline. Throws LeftForLater when the process ends. */
  async #with<T>(pipeline_id: string, work: (supervisor: Supervisor) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new LeftForLater("the process ends");
    const supervisor = this.#supervisors.get(pipeline_id) ?? this.#supervisorOf(pipeline_id);
    this.#supervisors.set(pipeline_id, supervisor);
    try {
      return await work(supervisor);
    } finally {
      this.#dropIdle(pipeline_id, supervisor);
    }
  }

  #dropIdle(pipeline_id: string, supervisor: Supervisor): void {
    if (supervisor.isIdle && this.#supervisors.get(pipeline_id) === supervisor) this.#supervisors.delete(pipeline_id);
  }

  #supervisorOf(pipeline_id: string): Supervisor {
    const { recorder } = this.#options;
    const supervisor: Supervisor = new Supervisor({
      launch: (signal, suspicion) => this.#launch(pipeline_id, signal, suspicion),
      onRetry: (error) => this.#pause(pipeline_id, error),
      onDied: ({ message: text }) => {
        const since = new Date().toISOString();
        recorder.paused({ pipeline_id, pause: { class: "thread", since, text, way_out: waysOut.thread } });
      },
      onHeld: () => {
        const since = new Date().toISOString();
        recorder.threadHeld({ pipeline_id, pause: { ...holdPause, since } });
      },
      onRecovered: () => recorder.recovered(pipeline_id),
      onRested: () => recorder.pausesOver(pipeline_id),
      onOutdated: () => this.#secretsInUse.forget(pipeline_id),
      onFailed: (error) => this.#options.onFailed(pipeline_id, error),
      onIdle: () => this.#dropIdle(pipeline_id, supervisor),
    });
    return supervisor;
  }

  async #launch(pipeline_id: string, signal: AbortSignal, deaths: ThreadDeaths): Promise<Placement> {
    if (!this.#restarted.delete(pipeline_id)) return this.#place(pipeline_id, signal, deaths);
    const hasTurn = await this.#starts.turn(pipeline_id, signal);
    try {
      const placement = await this.#place(pipeline_id, signal, deaths);
      if (hasTurn) void waitAtMost(longestTurn, placement.opened).then(() => this.#starts.done());
      return placement;
    } catch (error) {
      if (hasTurn) this.#starts.done();
      throw error;
    }
  }

  /** Whether a pipeline has events or batches to deliver, or a log of its own to read. */
  #hasWork(pipeline_id: string): boolean {
    const { catalog, journal, streams } = this.#options;
    const entry = catalog.get(pipeline_id);
    if (entry === undefined || !isPushed(entry.config)) return true;
    return journal.pendingCount(pipeline_id) > 0 || (streams.state(pipeline_id)?.messages ?? 0) > 0;
  }

  async #place(pipeline_id: string, signal: AbortSignal, deaths: ThreadDeaths): Promise<Placement> {
    const { catalog, streams } = this.#options;
    const entry = catalog.get(pipeline_id);
    if (entry === undefined) throw new LeftForLater(`there is no pipeline ${pipeline_id}`);
    const spec = await this.#spec(entry, signal);
    const { care, isAlone: alone } = deaths;
    const placement = this.#pool.start({ ...spec, ...(care !== undefined && { care }) }, { alone });
    // Reports events that were stored while the spec was made.
    if (streams.has(pipeline_id)) this.#pool.arrived(pipeline_id, streams.get(pipeline_id).state.last);
    return placement;
  }

  #pause(pipeline_id: string, error: Error): void {
    const since = new Date().toISOString();
    this.#options.recorder.paused({ pipeline_id, pause: { ...startPause(error), since } });
  }

  /** What a thread needs to run a pipeline. Throws LeftForLater when `signal` aborts: nothing was written or noted then. */
  async #spec(entry: CatalogEntry, signal: AbortSignal): Promise<PipelineSpec> {
    const { pipeline_id, config, revision, options } = entry;
    const { journal, streams, embedded, secrets, targets, kafka } = this.#options;
    checkTargets(config, targets);
    const resolved = await orLeft(resolveSecrets(config, secrets), signal);
    const connection = isEmbedded(config) ? await orLeft(embedded.connection(), signal) : undefined;
    await this.#options.openStream(entry);
    const salt = await journal.salt(pipeline_id);
    leaveIf(signal);
    this.#secretsInUse.note(pipeline_id, config, resolved);
    const pending = journal.pending(pipeline_id);
    return {
      pipeline_id,
      config: resolved,
      revision,
      options,
      ...(connection !== undefined && { embedded: connection }),
      kafka,
      targets,
      ...(isPushed(config) && {
        stream: { folder: streams.folder(pipeline_id), end: streams.get(pipeline_id).state.last },
      }),
      ...(config.join !== undefined && { join: { folder: streams.joinFolder(pipeline_id) } }),
      progress: journal.progress(pipeline_id),
      finalKeys: journal.finalKeyCount(pipeline_id),
      pending,
      salt,
      letters: this.#letters(pipeline_id, pending),
      revisions: this.#earlier(pipeline_id, revision, pending, resolved),
    };
  }

  #letters(pipeline_id: string, pending: PipelineSpec["pending"]): LetterEvent[] {
    return pending.flatMap((record) =>
      lettersOf(record).flatMap((number) => {
        const letter = this.#options.letters.get(pipeline_id, number);
        return letter === undefined ? [] : [letterEvent(letter)];
      }),
    );
  }

  /** The revisions of the pending batches, with the present connection: a corrected password applies to them too. */
  #earlier(
    pipeline_id: string,
    revision: number,
    pending: PipelineSpec["pending"],
    resolved: PipelineConfig,
  ): [number, PipelineConfig][] {
    const named = new Set(pending.map((record) => record.revision).filter((of) => of !== revision));
    const { connection_params } = resolved.sink;
    return [...named].flatMap((of): [number, PipelineConfig][] => {
      const stored = this.#options.catalog.revision(pipeline_id, of);
      if (stored === undefined) return [];
      const config = withoutSecrets(stored);
      return [[of, { ...config, sink: { ...config.sink, connection_params } }]];
    });
  }
}

/** The pause of a pipeline that cannot be started. */
export function startPause(error: Error): Omit<Pause, "since"> {
  const way_out = "correct the named cause; the start is retried within a minute";
  return { class: isPassing(error) ? "disk" : "setup", text: error.message, way_out };
}

function isEmbedded({ sink }: PipelineConfig): boolean {
  return sink.connection_params.host === "embedded";
}

function leaveIf({ aborted }: AbortSignal): void {
  if (aborted) throw new LeftForLater("the pipeline was ended while it was being started");
}

/** What `work` resolves with. Throws LeftForLater as soon as the signal aborts, however long the work takes. */
async function orLeft<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const done = new AbortController();
  const aborted = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { signal: done.signal });
  });
  try {
    return await Promise.race([work, aborted.then(() => leaveIf(signal)) as Promise<never>]);
  } finally {
    done.abort();
    work.catch(() => undefined);
  }
}
