import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { EngineOptions, PipelineConfig } from "../schemas/pipeline.ts";
import { AccessTokens } from "./catalog/access-tokens.ts";
import type { DeadLetterQueue, Selection } from "./core/dead-letter.ts";
import { EngineError, LeftForLater, type ErrorCode } from "./core/errors.ts";
import { IngestEndpoints } from "./ingest/endpoints.ts";
import { isPushed, kindOf } from "./sources/registry.ts";
import { expire, PipelineStorage } from "./catalog/storage.ts";
import { immutableChange } from "./catalog/immutable.ts";
import { isAtRest, shouldRun } from "./core/lifecycle.ts";
import type { PipelineHealth, PipelineView, Status } from "./core/pipeline-view.ts";
import { PipelineRegistry } from "./catalog/registry.ts";
import { reprocess, type Reprocessed } from "./catalog/reprocess.ts";
import { Runner } from "./workers/runner.ts";
import { closeStores, openStores, type EngineStores, type EngineSettings } from "./stores.ts";
import { resolveSecrets, type StaleSecrets } from "./catalog/secrets.ts";
import type { CatalogEntry } from "./state/catalog.ts";
import { isPassing } from "./state/storage-error.ts";
import { defaultKafkaSettings } from "./sources/kafka/brokers/settings.ts";
import { defaultOtlpSettings } from "./sources/otlp/receiver/settings.ts";
import { isToken } from "./sources/webhook/token.ts";

/** How long a stop drains where the settings do not say it, in milliseconds. */
const defaultDrainLimit = 5 * 60 * 1000;
/** How long the end of the process waits for inserts that are under way, in milliseconds. */
const closeLimit = 5_000;

/**
 * The machine: pipelines by id, and the calls that lead them through their lives (`lifecycle.ts`). Each call resolves
 * when its end status is reached and durable, and throws an EngineError that says why it was refused. What should run
 * is in the catalog, so that a process that starts again carries on where it was.
 */
export class Engine {
  /** The webhooks' tokens: when they were made and used, and how to make a new one. */
  readonly tokens: Pick<AccessTokens, "show" | "rotate">;
  readonly #parts: EngineStores;
  readonly #runner: Runner;
  readonly #intakes: IngestEndpoints;
  readonly #registry: PipelineRegistry;
  /** Pipelines that are being created, and are in no list yet. */
  readonly #creating = new Set<string>();
  readonly #folders: PipelineStorage;
  #sweeping: NodeJS.Timeout | undefined;

  private constructor(parts: EngineStores) {
    this.#parts = parts;
    const { catalog, journal, letters, streams, embedded, recorder, settings } = parts;
    this.#registry = new PipelineRegistry(catalog, recorder);
    this.#folders = new PipelineStorage({ ...parts, dataDir: parts.dataDir.path, log: settings.log });
    const tokens = new AccessTokens(this.#registry);
    this.tokens = tokens;
    this.#runner = new Runner({
      catalog,
      journal,
      letters,
      streams,
      embedded,
      recorder,
      kafka: {
        dataDir: parts.dataDir.id,
        run: parts.runs.run,
        earlier: [...parts.runs.earlier],
        settings: { ...defaultKafkaSettings, ...settings.kafka },
      },
      secrets: settings.secrets,
      log: settings.log,
      openStream: (entry) => this.#openStream(entry),
      ...(settings.threads === undefined ? {} : { threads: settings.threads }),
      ...(settings.spawnThread === undefined ? {} : { spawnThread: settings.spawnThread }),
      onFailed: (pipeline_id, error) => void this.#failed(pipeline_id, error),
    });
    const otlp = { ...defaultOtlpSettings, ...settings.otlp };
    this.#intakes = new IngestEndpoints({ registry: this.#registry, tokens, streams, recorder, otlp });
  }

  /** Takes the data dir and starts what should run. Throws DATA_DIR_HELD and DATA_DIR_NEWER. */
  static async open(settings: EngineSettings): Promise<Engine> {
    const parts = await openStores(settings);
    const engine = new Engine(parts);
    try {
      await engine.#carryOn();
    } catch (error) {
      await engine.close();
      throw error;
    }
    engine.#sweeping = setInterval(() => void engine.#sweep(), settings.sweepEvery ?? 60_000).unref();
    return engine;
  }

  /** The id drawn when the data dir was made. */
  get dataDirId(): string {
    return this.#parts.dataDir.id;
  }

  /**
   * Stores a pipeline and starts it. Returns the webhook's token where one was generated: it is shown only here.
   * Throws PIPELINE_EXISTS, SECRET_NOT_FOUND, NOT_SUPPORTED; nothing is kept then.
   */
  async create(config: PipelineConfig, options: EngineOptions): Promise<{ access_token?: string }> {
    const { pipeline_id } = config;
    if (this.#registry.find(pipeline_id) !== undefined || this.#creating.has(pipeline_id)) {
      throw new EngineError("PIPELINE_EXISTS", `pipeline ${pipeline_id} exists already: update it instead`);
    }
    this.#creating.add(pipeline_id);
    let generated: string | undefined;
    try {
      await resolveSecrets(config, this.#parts.settings.secrets);
      const made = await this.#newToken(config, options);
      generated = made.generated;
      // What is being removed of a pipeline of this name is gone first.
      await this.#runner.atRest(pipeline_id, () => this.#add(config, options, made.token));
    } finally {
      this.#creating.delete(pipeline_id);
    }
    // It was created, also where it is told to end before it runs.
    await this.#start(pipeline_id, "Created");
    return generated === undefined ? {} : { access_token: generated };
  }

  /** As long as a pipeline is not changed, its config and options are the same objects. Throws PIPELINE_NOT_FOUND. */
  get(pipeline_id: string): PipelineView {
    return viewOf(this.#registry.get(pipeline_id));
  }

  /** Newest first; each as `get` gives it. */
  list(): PipelineView[] {
    return this.#registry.list().map(viewOf);
  }

  /** Throws PIPELINE_NOT_FOUND. */
  health(pipeline_id: string): PipelineHealth {
    const { config, status, failure, created_at, updated_at } = this.#registry.get(pipeline_id);
    const { journal, letters, recorder, streams } = this.#parts;
    const { counters, pause, at_least_once, keys, source, strangers } = recorder.observed(pipeline_id);
    return {
      pipeline_id,
      pipeline_name: config.name,
      overall_status: status,
      ...(failure === undefined ? {} : { failure }),
      ...(pause === undefined ? {} : { paused: pause }),
      ...(at_least_once === undefined ? {} : { at_least_once }),
      stream: streams.state(pipeline_id),
      pending_batches: journal.pendingCount(pipeline_id),
      dead_letters: letters.queue(pipeline_id).state(),
      ...(keys === undefined ? {} : { keys }),
      ...(source === undefined ? this.#unread(pipeline_id) : { source }),
      ...(strangers === undefined ? {} : { strangers }),
      counters: { ...counters },
      created_at,
      updated_at,
    };
  }

  /**
   * Drains the pipeline: what its stream holds now is written; resolves when it is Stopped. With a closed `intake`, for
   * a pipeline that is to be deleted, it takes no event from now on; a pipeline at rest may be told that too.
   */
  async stop(pipeline_id: string, { intake }: { intake?: "closed" } = {}): Promise<void> {
    if (intake === "closed") {
      await this.#registry.admit(pipeline_id, false);
      await this.#intakes.stored(pipeline_id);
      if (isAtRest(this.#registry.get(pipeline_id).status)) return;
    }
    await this.#registry.request(pipeline_id, "stop");
    const { drainLimit = defaultDrainLimit } = this.#parts.settings;
    await this.#orFailed(pipeline_id, "Stopping", () => this.#runner.stop(pipeline_id, drainLimit));
    await this.#registry.changeFrom(pipeline_id, ["Stopping"], "Stopped");
  }

  /** Ends the pipeline at once and drops the events of its stream that no batch under way names. */
  async terminate(pipeline_id: string): Promise<void> {
    await this.#registry.request(pipeline_id, "terminate");
    await this.#orFailed(pipeline_id, "Terminating", async () => {
      await this.#runner.abort(pipeline_id);
      await this.#runner.atRest(pipeline_id, () => this.#release(pipeline_id));
    });
    await this.#registry.changeFrom(pipeline_id, ["Terminating"], "Terminated");
  }

  /** Starts a pipeline that is at rest; resolves when it runs. Without a closed `intake` it takes events again. */
  async resume(pipeline_id: string, { intake }: { intake?: "closed" } = {}): Promise<void> {
    await this.#registry.request(pipeline_id, "resume");
    await this.#registry.admit(pipeline_id, intake !== "closed");
    if (await this.#start(pipeline_id, "Resuming")) return;
    throw new EngineError("PIPELINE_IN_TRANSITION", `pipeline ${pipeline_id} was told to end while it was started`, {
      details: { pipeline_id, current_status: this.#registry.find(pipeline_id)?.status },
    });
  }

  /** Replaces the config of a pipeline at rest; its status stays. Throws PIPELINE_NOT_STOPPED_FOR_EDIT, IMMUTABLE_FIELD. */
  async update(pipeline_id: string, config: PipelineConfig, options: EngineOptions): Promise<void> {
    const entry = this.#registry.get(pipeline_id);
    this.#assertAtRest(entry, "PIPELINE_NOT_STOPPED_FOR_EDIT", "edit");
    const immutable = immutableChange(entry.config, config);
    if (immutable !== undefined) {
      throw new EngineError("IMMUTABLE_FIELD", `pipeline ${pipeline_id}: ${immutable}`, { details: { pipeline_id } });
    }
    const { token } = await this.#newToken(config, options, entry);
    await this.#registry.save(pipeline_id, (present) => {
      this.#assertAtRest(present, "PIPELINE_NOT_STOPPED_FOR_EDIT", "edit");
      return { config, options, revision: present.revision + 1, ...(token === undefined ? {} : { token }) };
    });
  }

  /** Replaces the options; a running pipeline takes them at once. */
  async configure(pipeline_id: string, options: EngineOptions): Promise<void> {
    const entry = this.#registry.get(pipeline_id);
    const { token } = await this.#newToken(entry.config, options, entry);
    await this.#registry.save(pipeline_id, { options, ...(token === undefined ? {} : { token }) });
    await this.#runner.relaunch(pipeline_id);
  }

  /** Changes the name; the pipeline goes on as it runs. */
  async rename(pipeline_id: string, name: string): Promise<void> {
    await this.#registry.save(pipeline_id, ({ config }) => ({ config: { ...config, name } }));
  }

  /** Replaces the tags; the pipeline goes on as it runs. */
  async tag(pipeline_id: string, tags: string[]): Promise<void> {
    await this.#registry.save(pipeline_id, ({ config }) => ({ config: { ...config, metadata: { tags } } }));
  }

  /** Removes a pipeline at rest with its stream and its dead letters. */
  async delete(pipeline_id: string): Promise<void> {
    const check = (entry: CatalogEntry): void => this.#assertAtRest(entry, "INVALID_STATUS_TRANSITION", "deletion");
    const { journal, letters, deletions, recorder } = this.#parts;
    check(this.#registry.get(pipeline_id));
    const isDone = await this.#runner.atRest(pipeline_id, async () => {
      const forget = (): void => {
        journal.forgetInWrite(pipeline_id);
        letters.forgetInWrite(pipeline_id);
        deletions.noteInWrite(pipeline_id);
      };
      await this.#registry.remove(pipeline_id, forget, check);
      recorder.forget(pipeline_id);
      await this.#folders.removeDeleted(pipeline_id);
    });
    // It has been resumed meanwhile.
    if (!isDone) check(this.#registry.get(pipeline_id));
  }

  /**
   * Pipelines that run with a secret, or count a brought token, whose value is another one by now, or gone. `configure`
   * with the same options takes the new ones.
   */
  staleSecrets(): Promise<StaleSecrets[]> {
    const tokens = this.#registry.list().flatMap(({ pipeline_id, token, options: { access_token: text } }) => {
      if (token?.brought !== true || text?.includes("${") !== true) return [];
      return [{ pipeline_id, text, isCurrent: (value: string) => isToken(value, token.hash) }];
    });
    return this.#runner.used.stale(tokens);
  }

  /** Throws PIPELINE_NOT_FOUND. */
  deadLetters(pipeline_id: string): DeadLetterQueue {
    this.#registry.get(pipeline_id);
    return this.#parts.letters.queue(pipeline_id);
  }

  /**
   * Sends dead letters of a running pipeline through it again. Resolves when that cannot be lost any more; a letter
   * leaves the queue when its event is settled. Throws PIPELINE_NOT_FOUND, INVALID_STATUS_TRANSITION where it does not
   * run, REPROCESS_FAILED.
   */
  async reprocess(pipeline_id: string, selection: Selection): Promise<Reprocessed> {
    const { status } = this.#registry.get(pipeline_id);
    if (status !== "Running") {
      throw new EngineError(
        "INVALID_STATUS_TRANSITION",
        `pipeline ${pipeline_id} is ${status}: resume it before its letters are reprocessed`,
        {
          details: { pipeline_id, current_status: status },
        },
      );
    }
    return reprocess(pipeline_id, selection, this.#parts.letters, (batch) =>
      this.#runner.reprocess(pipeline_id, batch),
    );
  }

  /** Answers a request to the events listener. Never throws. */
  readonly handleEvents = (request: IncomingMessage, response: ServerResponse): void => {
    void this.#intakes.webhook.handle(request, response);
  };

  /** Answers a request to the OTLP listener for HTTP. Never throws. */
  readonly handleOtlpHttp = (request: IncomingMessage, response: ServerResponse): void => {
    void this.#intakes.otlpHttp.handle(request, response);
  };

  /** Takes over a connection to the OTLP listener for gRPC. */
  readonly handleOtlpGrpc = (connection: Duplex): void => this.#intakes.otlpGrpc.accept(connection);

  /** Closes the connections that `handleOtlpGrpc` took over, each when its calls have ended, or after `grace` milliseconds. */
  readonly drainOtlpGrpc = (grace: number): void => this.#intakes.otlpGrpc.drain(grace);

  /** The result of a statement on the embedded ClickHouse, as it prints it in `format` (default: a table for people). */
  sql(query: string, format = "PrettyCompactMonoBlock"): Promise<string> {
    return this.#parts.embedded.query(query, format);
  }

  /** Lets inserts under way end, and gives the data dir back. Statuses stay as they are. */
  async close(): Promise<void> {
    clearInterval(this.#sweeping);
    this.#intakes.close();
    await this.#runner.close(closeLimit);
    await closeStores(this.#parts);
  }

  /** After a start: ends what was under way, removes leftovers, and starts what should run. */
  async #carryOn(): Promise<void> {
    const entries = this.#registry.list();
    await this.#folders.removeLeftovers(new Set(entries.map(({ pipeline_id }) => pipeline_id)));
    for (const entry of entries) {
      const { pipeline_id, status } = entry;
      if (status !== "Terminating" && !(await this.#canOpenStream(entry))) continue;
      if (status === "Stopping") await this.#registry.change(pipeline_id, "Stopped");
      if (status === "Terminating") {
        await this.#release(pipeline_id);
        await this.#registry.change(pipeline_id, "Terminated");
      }
      if (!shouldRun(status)) continue;
      if (status !== "Running") await this.#registry.change(pipeline_id, "Running");
      this.#runner.restart(pipeline_id);
    }
  }

  /** A Kafka pipeline of which nothing was ever read: nothing has to be said to its group. */
  #unread(pipeline_id: string): Pick<PipelineHealth, "source"> {
    const { journal } = this.#parts;
    if (isPushed(this.#registry.get(pipeline_id).config)) return {};
    const isUnread =
      Object.keys(journal.progress(pipeline_id).positions).length + journal.pendingCount(pipeline_id) === 0;
    return isUnread ? { source: { partitions: 0, lag: 0, unsaid: 0 } } : {};
  }

  async #openStream({ pipeline_id, config }: Pick<CatalogEntry, "pipeline_id" | "config">): Promise<void> {
    const { streams, journal } = this.#parts;
    if (isPushed(config)) await streams.open(pipeline_id, config, journal.settledUpTo(pipeline_id));
  }

  /** Opens a stream at the start. One that is damaged fails its own pipeline; what passes is tried again when it runs. */
  async #canOpenStream(entry: CatalogEntry): Promise<boolean> {
    const { pipeline_id, status } = entry;
    try {
      await this.#openStream(entry);
      return true;
    } catch (error) {
      const { message } = error as Error;
      if (isPassing(error)) {
        this.#parts.settings.log.warn(
          { pipeline_id, error: message },
          "A stream could not be opened; it is tried again.",
        );
        return true;
      }
      if (status !== "Failed") await this.#registry.change(pipeline_id, "Failed", message);
      return false;
    }
  }

  async #sweep(): Promise<void> {
    for (const entry of this.#registry.list()) {
      const { pipeline_id, status } = entry;
      try {
        await this.#runner.atRest(pipeline_id, async () => {
          // At the start there may have been no way to open it, which has passed.
          if (status !== "Failed") await this.#openStream(entry);
          await expire(entry, this.#parts);
        });
      } catch (error) {
        this.#parts.settings.log.warn(
          { pipeline_id, error: String(error) },
          "Old events could not be removed; it is tried again.",
        );
      }
    }
  }

  /** Puts a pipeline into the catalog, with an empty stream where it has one. */
  async #add(config: PipelineConfig, options: EngineOptions, token: CatalogEntry["token"]): Promise<void> {
    const { pipeline_id } = config;
    const { streams } = this.#parts;
    const now = new Date().toISOString();
    await this.#folders.free(pipeline_id);
    await this.#openStream({ pipeline_id, config });
    try {
      await this.#registry.add({
        pipeline_id,
        config,
        options,
        status: "Created",
        revision: 1,
        created_at: now,
        updated_at: now,
        ...(token === undefined ? {} : { token }),
      });
    } catch (error) {
      await streams.remove(pipeline_id);
      throw error;
    }
  }

  /**
   * Starts a pipeline that is `Created` or `Resuming`; resolves with true when it is Running, with false where it was
   * told to end meanwhile. Throws what keeps it from running, which leaves it Failed.
   */
  async #start(pipeline_id: string, from: Status): Promise<boolean> {
    try {
      await this.#orFailed(pipeline_id, from, () => this.#startOrTry(pipeline_id));
    } catch (error) {
      if (error instanceof LeftForLater) return false;
      throw error;
    }
    if (await this.#registry.changeFrom(pipeline_id, [from], "Running")) return true;
    const { status, failure } = this.#registry.get(pipeline_id);
    if (status === "Failed") throw new Error(failure);
    return false;
  }

  /** Starts a pipeline; what keeps it from that and passes is waited for while it counts as started. */
  async #startOrTry(pipeline_id: string): Promise<void> {
    try {
      await this.#runner.start(pipeline_id);
    } catch (error) {
      if (!isPassing(error)) throw error;
      this.#runner.restart(pipeline_id);
    }
  }

  /** A pipeline must not stay between two statuses: what cannot be done leaves it Failed, which has ways out. */
  async #orFailed(pipeline_id: string, status: Status, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      // When the process ends, its status is what the next one goes on from.
      if (!(error instanceof LeftForLater))
        await this.#registry.changeFrom(pipeline_id, [status], "Failed", (error as Error).message);
      throw error;
    }
  }

  /** A pipeline has ended with what no wait can mend. */
  async #failed(pipeline_id: string, error: Error): Promise<void> {
    try {
      await this.#registry.changeFrom(pipeline_id, ["Created", "Resuming", "Running"], "Failed", error.message);
    } catch (cause) {
      this.#parts.settings.log.error(
        { pipeline_id, reason: error.message, error: String(cause) },
        "A pipeline has failed, and its status could not be changed.",
      );
    }
  }

  #assertAtRest({ pipeline_id, status }: CatalogEntry, code: ErrorCode, what: string): void {
    if (isAtRest(status)) return;
    const text = `pipeline ${pipeline_id} is ${status}: stop it before its ${what}`;
    throw new EngineError(code, text, { details: { pipeline_id, current_status: status } });
  }

  /** Drops the stream's events behind what pending batches name. */
  async #release(pipeline_id: string): Promise<void> {
    const { journal, streams } = this.#parts;
    const { config } = this.#registry.get(pipeline_id);
    if (isPushed(config)) {
      const [trimmed, named] = [journal.settledUpTo(pipeline_id), journal.namedUpTo(pipeline_id)];
      await streams.openToRelease(pipeline_id, config, { trimmed, named });
      await streams.get(pipeline_id).release(named);
    }
    await journal.forgetKeys(pipeline_id);
  }

  /** The token that a config needs: none, the brought one, or a generated one where there is none yet. */
  async #newToken(
    { sources }: PipelineConfig,
    { access_token }: EngineOptions,
    present?: CatalogEntry,
  ): Promise<{ token?: CatalogEntry["token"]; generated?: string }> {
    const [first] = sources;
    if (first === undefined || !kindOf(first).hasAccessToken) return {};
    if (access_token !== undefined) {
      const value = await this.#parts.settings.secrets.resolve(access_token);
      if (present?.token?.brought === true && isToken(value, present.token.hash)) return {};
      return { token: AccessTokens.record(value, true) };
    }
    if (present?.token !== undefined && !present.token.brought) return {};
    const generated = AccessTokens.generate();
    return { token: AccessTokens.record(generated, false), generated };
  }
}

/** What it shares with the registry is frozen, so that a copy is needed of none of it. */
function viewOf({ token: _token, ...entry }: CatalogEntry): PipelineView {
  freezeDeeply(entry.config);
  freezeDeeply(entry.options);
  return entry;
}

function freezeDeeply(value: unknown): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  Object.values(value).forEach(freezeDeeply);
}
