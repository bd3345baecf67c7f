import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { EngineOptions, PipelineConfig, RewindTo } from "../schemas/pipeline.ts";
import { AccessTokens } from "./catalog/access-tokens.ts";
import type { CatalogEntry } from "./catalog/catalog.ts";
import { immutableChange } from "./catalog/immutable.ts";
import { PipelineRegistry } from "./catalog/registry.ts";
import { reprocess, type Reprocessed } from "./catalog/reprocess.ts";
import { resolveSecrets, secretsOf, type StaleSecrets } from "./catalog/secrets.ts";
import { PipelineStorage } from "./catalog/storage.ts";
import { checkTargets } from "./catalog/targets.ts";
import { PipelineViews } from "./catalog/views.ts";
import type { DeadLetterQueue, LetterEvent, Selection } from "./core/dead-letter.ts";
import { EngineError, type ErrorCode } from "./core/errors.ts";
import { isAtRest, shouldRun } from "./core/lifecycle.ts";
import type { Readiness } from "./core/readiness.ts";
import type { RewindPlan, RewoundPartition } from "./core/positions.ts";
import { isPushed } from "./sources/registry.ts";
import type { PipelineHealth, PipelineView } from "./core/pipeline-view.ts";
import type { SourceSample } from "./event/newest-events.ts";
import type { HttpRefusal } from "./http/refusal.ts";
import type { BeginRequest } from "./http/request-progress.ts";
import { IngestEndpoints } from "./ingest/endpoints.ts";
import { defaultPushRates } from "./ingest/rate-limits.ts";
import { Lifecycle } from "./lifecycle.ts";
import { defaultPushMaxWait } from "./core/push.ts";
import { thisMachine } from "./machine.ts";
import { defaultKafkaSettings } from "./sources/kafka/brokers/settings.ts";
import type { EngineSettings } from "./settings.ts";
import { exposeHoldings } from "./telemetry/held.ts";
import { closeStores, openStores, type Stores } from "./stores.ts";
import { Runner } from "./workers/runner.ts";

const defaultDrainLimit = 5 * 60 * 1000;
const defaultSweepEvery = 60_000;
/** How long the end of the process waits for inserts in flight, in milliseconds. */
const closeLimit = 5_000;

/**
 * Pipelines by id, and the calls of their lifecycle (`lifecycle.ts`). Each call resolves when its end status is reached
 * and durable, and throws an EngineError with the reason where it is refused. The catalog stores which pipelines should
 * run: the next process starts those.
 */
export class Engine {
  /** The webhooks' tokens: when they were made and used, and how to make a new one. */
  readonly tokens: Pick<AccessTokens, "show" | "rotate">;
  readonly #settings: EngineSettings;
  readonly #stores: Stores;
  readonly #tokens: AccessTokens;
  readonly #registry: PipelineRegistry;
  readonly #views: PipelineViews;
  readonly #storage: PipelineStorage;
  readonly #runner: Runner;
  readonly #endpoints: IngestEndpoints;
  readonly #lifecycle: Lifecycle;
  /** Ids of pipelines that are being created, or moved to; `get` and `list` do not know them yet. */
  readonly #creating = new Set<string>();
  #sweeping: NodeJS.Timeout | undefined;

  private constructor(settings: EngineSettings, stores: Stores) {
    const { catalog, dataDir, journal, letters, streams, deletions, moves, embedded, recorder, runs } = stores;
    const { secrets, log, threads } = settings;
    this.#settings = settings;
    this.#stores = stores;
    const registry = new PipelineRegistry(catalog, recorder);
    this.#registry = registry;
    const { spawnThread, disk } = { ...thisMachine, ...settings.machine };
    exposeHoldings(settings.registry, {
      freeBytes: () => disk.freeBytes(dataDir.path),
      pipelines: () => registry.list().map(({ pipeline_id }) => pipeline_id),
      deadLetters: (pipeline_id) => letters.queue(pipeline_id).state(),
      stream: (pipeline_id) => (streams.has(pipeline_id) ? streams.state(pipeline_id) : undefined),
      freshness: (pipeline_id) => this.#views.freshness(pipeline_id),
    });
    this.#views = new PipelineViews({ registry, journal, letters, streams, recorder });
    this.#storage = new PipelineStorage({
      dataDir: dataDir.path,
      disk,
      journal,
      letters,
      streams,
      deletions,
      moves,
      recorder,
      log,
    });
    this.#tokens = new AccessTokens(registry, secrets);
    this.tokens = this.#tokens;
    this.#runner = new Runner({
      catalog,
      journal,
      letters,
      streams,
      embedded,
      recorder,
      kafka: {
        dataDir: dataDir.id,
        run: runs.run,
        earlier: [...runs.earlier],
        settings: { ...defaultKafkaSettings, ...settings.kafka },
      },
      secrets,
      targets: settings.targets ?? {},
      log,
      openStream: (entry) => this.#storage.open(entry),
      ...(threads !== undefined && { threads }),
      spawnThread,
      onFailed: (pipeline_id, error) => void this.#lifecycle.failed(pipeline_id, error),
    });
    const otlp = { ...settings.otlp, maxWait: settings.pushMaxWait ?? defaultPushMaxWait };
    const rates = { ...defaultPushRates, ...settings.pushRates };
    const openStream = (entry: CatalogEntry): Promise<void> => this.#storage.open(entry);
    this.#endpoints = new IngestEndpoints({
      registry,
      openStream,
      tokens: this.#tokens,
      streams,
      recorder,
      otlp,
      rates,
    });
    this.#lifecycle = new Lifecycle({
      registry,
      storage: this.#storage,
      runner: this.#runner,
      stored: (pipeline_id) => this.#endpoints.stored(pipeline_id),
      drainLimit: settings.drainLimit ?? defaultDrainLimit,
      log,
    });
  }

  /** Takes the data dir and starts what should run. Throws DATA_DIR_HELD, DATA_DIR_NEWER and DATA_DIR_OLDER. */
  static async open(settings: EngineSettings): Promise<Engine> {
    const engine = await Engine.begin(settings);
    try {
      await engine.restore();
    } catch (error) {
      await engine.close();
      throw error;
    }
    return engine;
  }

  /**
   * Takes the data dir, as `open` does, and starts nothing yet: what is pushed is stored already, so that senders do not wait for
   * the streams and pipelines of others. `restore` follows, before any other call that changes something.
   */
  static async begin(settings: EngineSettings): Promise<Engine> {
    const engine = new Engine(settings, await openStores(settings));
    try {
      await engine.#lifecycle.prepare();
    } catch (error) {
      await engine.close();
      throw error;
    }
    return engine;
  }

  /** Opens the streams, and starts what should run. */
  async restore(): Promise<void> {
    await this.#lifecycle.restore();
    this.#sweeping = setInterval(() => void this.#sweep(), this.#settings.sweepEvery ?? defaultSweepEvery).unref();
  }

  /** The id drawn when the data dir was made. */
  get dataDirId(): string {
    return this.#stores.dataDir.id;
  }

  /**
   * Stores a pipeline and starts it. Returns the webhook's token where one was generated: it is shown only here.
   * Throws PIPELINE_EXISTS, SECRET_NOT_FOUND, SECRET_NOT_ALLOWED, TARGET_NOT_ALLOWED, ADDRESS_INVALID, NOT_SUPPORTED; nothing is stored then.
   */
  async create(config: PipelineConfig, options: EngineOptions): Promise<{ access_token?: string }> {
    const { pipeline_id } = config;
    this.#claim(pipeline_id);
    let generated: string | undefined;
    try {
      checkTargets(config, this.#settings.targets);
      await resolveSecrets(config, this.#settings.secrets);
      const made = await this.#tokens.newTokenFor(config, options);
      generated = made.generated;
      // The folder of a deleted pipeline of this name is removed first.
      await this.#runner.atRest(pipeline_id, () => this.#add(config, options, made.token));
    } finally {
      this.#creating.delete(pipeline_id);
    }
    await this.#lifecycle.startCreated(pipeline_id);
    return generated === undefined ? {} : { access_token: generated };
  }

  /** Keeps an id for a pipeline that is not there yet. Throws PIPELINE_EXISTS. */
  #claim(pipeline_id: string): void {
    if (this.#registry.find(pipeline_id) !== undefined || this.#creating.has(pipeline_id)) {
      throw new EngineError("PIPELINE_EXISTS", `pipeline ${pipeline_id} exists already: update it instead`);
    }
    this.#creating.add(pipeline_id);
  }

  /** As long as a pipeline is not changed, its config and options are the same objects. Throws PIPELINE_NOT_FOUND. */
  get(pipeline_id: string): PipelineView {
    return this.#views.get(pipeline_id);
  }

  /** Newest first; each as `get` gives it. */
  list(): PipelineView[] {
    return this.#views.list();
  }

  /** Throws PIPELINE_NOT_FOUND. */
  health(pipeline_id: string): PipelineHealth {
    return this.#views.health(pipeline_id);
  }

  /**
   * Drains the pipeline: what its stream holds now is written; resolves when it is Stopped. With a closed `intake`, for
   * a pipeline that is to be deleted, it accepts no event from now on; a pipeline at rest only closes its intake.
   */
  stop(pipeline_id: string, options: { intake?: "closed" } = {}): Promise<void> {
    return this.#lifecycle.stop(pipeline_id, options);
  }

  /** Ends the pipeline at once and drops the events of its stream that no pending batch names. */
  terminate(pipeline_id: string): Promise<void> {
    return this.#lifecycle.terminate(pipeline_id);
  }

  /** Starts a pipeline that is at rest; resolves when it runs. Without a closed `intake` it accepts events again. */
  resume(pipeline_id: string, options: { intake?: "closed" } = {}): Promise<void> {
    return this.#lifecycle.resume(pipeline_id, options);
  }

  /** Replaces the config of a pipeline at rest; its status stays. Throws PIPELINE_NOT_STOPPED_FOR_EDIT, IMMUTABLE_FIELD. */
  async update(pipeline_id: string, config: PipelineConfig, options: EngineOptions): Promise<void> {
    const entry = this.#registry.get(pipeline_id);
    this.#assertAtRest(entry, "PIPELINE_NOT_STOPPED_FOR_EDIT", "edit");
    this.#assertMutable(entry, { config, options });
    const { token } = await this.#tokens.newTokenFor(config, options, entry);
    let hasForgotten = false;
    await this.#registry.save(
      pipeline_id,
      (present) => {
        this.#assertAtRest(present, "PIPELINE_NOT_STOPPED_FOR_EDIT", "edit");
        return { config, options, revision: present.revision + 1, ...(token !== undefined && { token }) };
      },
      (before) => (hasForgotten = this.#storage.forgetDedupsInWrite(before, config)),
    );
    if (hasForgotten) this.#stores.recorder.keysForgotten(pipeline_id);
  }

  /**
   * Gives a pipeline at rest the id of `config`, and replaces config and options as `update` does. All that is kept of it goes
   * along: what it has accepted, offsets, prepared batches with their tokens, dedup keys, dead letters, what its join
   * buffers, and its token. Throws PIPELINE_EXISTS where that id is taken, and what `update` throws; it has its former id then.
   */
  async move(from: string, config: PipelineConfig, options: EngineOptions): Promise<void> {
    const { pipeline_id } = config;
    const check = (entry: CatalogEntry): void => this.#assertAtRest(entry, "PIPELINE_NOT_STOPPED_FOR_EDIT", "move");
    const entry = this.#registry.get(from);
    check(entry);
    this.#assertMutable(entry, { config, options }, true);
    this.#claim(pipeline_id);
    try {
      const { token } = await this.#tokens.newTokenFor(config, options, entry);
      const isDone = await this.#runner.atRest(from, async () => {
        // The folder of a deleted pipeline of the new name is removed first.
        await this.#runner.atRest(pipeline_id, () => this.#storage.beforeMove(from, pipeline_id));
        await this.#endpoints.stored(from);
        const changed = (present: CatalogEntry): CatalogEntry => {
          check(present);
          const { revision } = present;
          return {
            ...present,
            pipeline_id,
            config,
            options,
            revision: revision + 1,
            ...(token !== undefined && { token }),
          };
        };
        const also = (): void => this.#storage.moveInWrite(from, pipeline_id);
        await this.#registry.move(from, changed, { also, bytes: this.#storage.bytesToMove(from) });
        this.#storage.moved(from, pipeline_id);
        this.#tokens.moved(from, pipeline_id);
        this.#stores.recorder.forget(from);
        this.#endpoints.forget(from);
      });
      // It was resumed meanwhile.
      if (!isDone) check(this.#registry.get(from));
    } finally {
      this.#creating.delete(pipeline_id);
      await this.#openAgain(this.#registry.find(pipeline_id) ?? this.#registry.find(from));
    }
  }

  /** Opens the stream of a pipeline whose move has closed it. A stream that cannot be opened now is opened when it starts. */
  async #openAgain(entry: CatalogEntry | undefined): Promise<void> {
    if (entry === undefined) return;
    await this.#runner
      .atRest(entry.pipeline_id, () => this.#storage.open(entry))
      .catch((error: unknown) => {
        const fields = { pipeline_id: entry.pipeline_id, error: String(error) };
        this.#settings.log.warn(fields, "A stream could not be opened; the start of its pipeline retries it.");
      });
  }

  /** Replaces the options; a running pipeline is launched again with them. Throws IMMUTABLE_FIELD. */
  async configure(pipeline_id: string, options: EngineOptions): Promise<void> {
    const entry = this.#registry.get(pipeline_id);
    this.#assertMutable(entry, { config: entry.config, options });
    const { token } = await this.#tokens.newTokenFor(entry.config, options, entry);
    await this.#registry.save(pipeline_id, { options, ...(token !== undefined && { token }) });
    await this.#runner.relaunch(pipeline_id);
  }

  /**
   * Whether a pipeline could run with this config and these options: its secrets resolve, it compiles, its target takes
   * its rows and its source can be read. Changes nothing.
   */
  check(config: PipelineConfig, options: EngineOptions): Promise<Readiness> {
    return this.#runner.check(config, options);
  }

  /** Changes the name, also of a running pipeline, which it does not disturb. */
  async rename(pipeline_id: string, name: string): Promise<void> {
    await this.#registry.save(pipeline_id, ({ config }) => ({ config: { ...config, name } }));
  }

  /** Replaces the tags, also of a running pipeline, which it does not disturb. */
  async tag(pipeline_id: string, tags: string[]): Promise<void> {
    await this.#registry.save(pipeline_id, ({ config }) => ({ config: { ...config, metadata: { tags } } }));
  }

  /**
   * From now on a pipeline is being deleted to be created again, or no more: meanwhile senders get 503, and not that
   * there is no such pipeline.
   */
  recreating(pipeline_id: string, isOn: boolean): void {
    this.#tokens.recreating(pipeline_id, isOn);
    this.#endpoints.recreating(pipeline_id, isOn);
  }

  /** Removes a pipeline at rest with its stream and its dead letters. */
  async delete(pipeline_id: string): Promise<void> {
    const check = (entry: CatalogEntry): void => this.#assertAtRest(entry, "INVALID_STATUS_TRANSITION", "deletion");
    check(this.#registry.get(pipeline_id));
    const isDone = await this.#runner.atRest(pipeline_id, async () => {
      await this.#registry.remove(pipeline_id, () => this.#storage.forgetInWrite(pipeline_id), check);
      this.#storage.forgotten(pipeline_id);
      this.#stores.recorder.forget(pipeline_id);
      this.#endpoints.forget(pipeline_id);
      await this.#storage.removeDeleted(pipeline_id);
    });
    // It was resumed meanwhile.
    if (!isDone) check(this.#registry.get(pipeline_id));
  }

  /**
   * Pipelines that run with a secret, or accept a token of the options, whose value has changed or is missing.
   * `configure` with the same options takes the new values.
   */
  staleSecrets(): Promise<StaleSecrets[]> {
    return this.#runner.secretsInUse.stale(this.#tokens.texts());
  }

  /** The values of all secrets of the pipelines, for hiding them in a text. */
  async secrets(): Promise<string[]> {
    const { secrets } = this.#settings;
    const found = this.#registry.list().flatMap(({ pipeline_id, config, options: { access_token: token = "" } }) => {
      const accepted = secrets.resolve(token, { pipeline_id, servers: [] }).catch(() => token);
      return [secretsOf(config, secrets), accepted];
    });
    return (await Promise.all(found)).flat();
  }

  /** Throws PIPELINE_NOT_FOUND. */
  deadLetters(pipeline_id: string): DeadLetterQueue {
    this.#registry.get(pipeline_id);
    return this.#stores.letters.queue(pipeline_id);
  }

  /**
   * The newest events of a pipeline's source, at most `count`: those of its stream that are not settled, or those of its
   * topics, which are read outside of the consumer group. Takes none out. Throws PIPELINE_NOT_FOUND, SAMPLE_FAILED.
   */
  async sample(pipeline_id: string, count: number): Promise<SourceSample> {
    const entry = this.#registry.get(pipeline_id);
    try {
      return await this.#runner.sample(entry, count);
    } catch (error) {
      if (error instanceof EngineError) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      const text = `pipeline ${pipeline_id}: its events could not be read: ${reason}`;
      throw new EngineError("SAMPLE_FAILED", text, { cause: error });
    }
  }

  /**
   * Sends dead letters of a running pipeline through it again. Resolves when their batches are prepared; a letter leaves
   * the queue when its event is settled. Throws PIPELINE_NOT_FOUND, INVALID_STATUS_TRANSITION where it does not run,
   * REPROCESS_FAILED.
   */
  async reprocess(pipeline_id: string, selection: Selection): Promise<Reprocessed> {
    const { status } = this.#registry.get(pipeline_id);
    if (status !== "Running") {
      const text = `pipeline ${pipeline_id} is ${status}: resume it before its letters are reprocessed`;
      throw new EngineError("INVALID_STATUS_TRANSITION", text, { details: { pipeline_id, current_status: status } });
    }
    const send = (batch: LetterEvent[]): Promise<void> => this.#runner.reprocess(pipeline_id, batch);
    return reprocess(pipeline_id, selection, this.#stores.letters, send);
  }

  /**
   * What a rewind of a pipeline reads again. Changes nothing. Throws PIPELINE_NOT_FOUND, and REWIND_REFUSED where it cannot be
   * told, or nothing is there to be read again.
   */
  async rewindPlan(pipeline_id: string, to: RewindTo): Promise<RewindPlan> {
    const entry = this.#registry.get(pipeline_id);
    const { config, status } = entry;
    const refused = (why: string): EngineError =>
      new EngineError("REWIND_REFUSED", `pipeline ${pipeline_id} is not rewound: ${why}`, { details: { pipeline_id } });
    if (isPushed(config)) throw refused("its events are pushed to it, and those that are settled are not kept");
    if (config.join !== undefined) throw refused("it has a join, of which nobody can tell which rows would come again");
    if (status !== "Running" && !isAtRest(status)) throw refused(`it is ${status}: ask again when that has ended`);
    let partitions: RewoundPartition[];
    try {
      partitions = await this.#runner.rewound(entry, to);
    } catch (error) {
      throw error instanceof EngineError ? error : refused(error instanceof Error ? error.message : String(error));
    }
    const hasDedup = config.transforms.some(({ type }) => type === "dedup");
    return {
      pipeline_id,
      partitions,
      events: partitions.reduce((sum, one) => sum + one.from - one.to, 0),
      ...(hasDedup && {
        keys: this.#stores.journal.finalKeyCount(pipeline_id),
        recent: partitions.reduce((sum, { recent = 0 }) => sum + recent, 0),
      }),
    };
  }

  /**
   * Sets a pipeline back: it is drained, its positions change in one write, and it runs again where it ran. Its status stays
   * meanwhile. Throws as `rewindPlan`, and REWIND_REFUSED where batches wait for their table. `asker`: for the log.
   */
  async rewind(pipeline_id: string, to: RewindTo, asker: { by?: string; reason?: string } = {}): Promise<RewindPlan> {
    const plan = await this.rewindPlan(pipeline_id, to);
    const drainLimit = this.#settings.drainLimit ?? defaultDrainLimit;
    let isDone = false;
    try {
      if (shouldRun(this.#registry.get(pipeline_id).status)) await this.#runner.stop(pipeline_id, drainLimit);
      isDone = await this.#runner.atRest(pipeline_id, () => this.#stores.journal.rewind(pipeline_id, plan.partitions));
    } finally {
      const { status } = this.#registry.get(pipeline_id);
      if (shouldRun(status)) await this.#runner.startAgain(pipeline_id);
    }
    if (isDone) {
      const { partitions, events } = plan;
      this.#settings.log.warn({ pipeline_id, ...asker, partitions, events }, "A pipeline was rewound.");
      return plan;
    }
    throw new EngineError(
      "REWIND_REFUSED",
      `pipeline ${pipeline_id} is not rewound: it was started meanwhile; ask again`,
    );
  }

  /** Answers a request to the events listener. Never throws. */
  readonly handleEvents = (request: IncomingMessage, response: ServerResponse): void => {
    void this.#endpoints.webhook.handle(request, response);
  };

  /** Notes a request to the events listener that was refused before `handleEvents` could be called with it. */
  readonly unreadEvents = (request: HttpRefusal): void => this.#endpoints.webhook.unread(request);

  /** Answers a request to the OTLP listener for HTTP. Never throws. */
  readonly handleOtlpHttp = (request: IncomingMessage, response: ServerResponse): void => {
    void this.#endpoints.otlpHttp.handle(request, response);
  };

  /** Notes a request to that listener that was refused before `handleOtlpHttp` could be called with it. */
  readonly unreadOtlpHttp = (request: HttpRefusal): void => this.#endpoints.otlpHttp.unread(request);

  /** Takes over a connection to the OTLP listener for gRPC. `begins` is called with each call on it. */
  readonly handleOtlpGrpc = (connection: Socket, begins?: BeginRequest): void =>
    this.#endpoints.acceptOtlpGrpc(connection, begins);

  /** The process is about to stop: from now on probes of the ports for events say so. Everything goes on as before. */
  leaving(): void {
    this.#endpoints.leaving();
  }

  /** Closes the connections that `handleOtlpGrpc` took over, each when its calls have ended, or after `grace` milliseconds. */
  readonly drainOtlpGrpc = (grace: number): void => this.#endpoints.drainOtlpGrpc(grace);

  /**
   * The result of a statement on the embedded ClickHouse, as it prints it in `format` (default: a table for people).
   * Names without a database are those of `database`, or else of the default one.
   */
  sql(query: string, format = "PrettyCompactMonoBlock", database?: string): Promise<string> {
    return this.#stores.embedded.query(query, format, database);
  }

  /** Waits for inserts in flight, and releases the data dir. Statuses do not change. */
  async close(): Promise<void> {
    clearInterval(this.#sweeping);
    this.#endpoints.close();
    await this.#runner.close(closeLimit);
    await closeStores(this.#stores);
    this.#stores.recorder.close();
  }

  /** Looks whether the disk still takes writes. Removes expired events of pipelines at rest, and expired dead letters. */
  async #sweep(): Promise<void> {
    this.#stores.store.checkDisk();
    for (const entry of this.#registry.list()) {
      const { pipeline_id, status } = entry;
      try {
        await this.#storage.expireLetters(pipeline_id);
        // For one that runs, `atRest` would wait until it ends, and no other one would be swept.
        if (!isAtRest(status)) continue;
        await this.#runner.atRest(pipeline_id, async () => {
          // It was changed or deleted meanwhile: the next sweep takes it as it is then.
          if (this.#registry.find(pipeline_id) !== entry) return;
          // Opening it may have failed at the start.
          if (status !== "Failed") await this.#storage.open(entry);
          await this.#storage.expire(entry);
        });
      } catch (error) {
        const fields = { pipeline_id, error: String(error) };
        this.#settings.log.warn(fields, "Expired events or letters could not be removed; the next sweep retries it.");
      }
    }
  }

  /** Puts a pipeline into the catalog, with an empty stream where it has one. */
  async #add(config: PipelineConfig, options: EngineOptions, token: CatalogEntry["token"]): Promise<void> {
    const { pipeline_id } = config;
    const now = new Date().toISOString();
    await this.#storage.create({ pipeline_id, config });
    try {
      await this.#registry.add({
        pipeline_id,
        config,
        options,
        status: "Created",
        revision: 1,
        created_at: now,
        updated_at: now,
        ...(token !== undefined && { token }),
      });
    } catch (error) {
      await this.#storage.discard(pipeline_id);
      throw error;
    }
  }

  #assertMutable(entry: CatalogEntry, to: Pick<CatalogEntry, "config" | "options">, isMove = false): void {
    const { pipeline_id } = entry;
    const change = immutableChange(entry, to, isMove);
    if (change === undefined) return;
    throw new EngineError("IMMUTABLE_FIELD", `pipeline ${pipeline_id}: ${change}`, { details: { pipeline_id } });
  }

  #assertAtRest({ pipeline_id, status }: CatalogEntry, code: ErrorCode, what: string): void {
    if (isAtRest(status)) return;
    const text = `pipeline ${pipeline_id} is ${status}: stop it before its ${what}`;
    throw new EngineError(code, text, { details: { pipeline_id, current_status: status } });
  }
}
