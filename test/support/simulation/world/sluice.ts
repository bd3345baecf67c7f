import { Readable } from "node:stream";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Registry } from "prom-client";
import { Engine, EngineError, type Log } from "../../../../engine/index.ts";
import type { Revision, RevisionSource } from "../../../../reconciler/git/revision.ts";
import { Reconciler } from "../../../../reconciler/reconciler.ts";
import { Life } from "../clock.ts";
import { dataDir, type SimulatedMachine } from "../machine.ts";
import { giveFiles } from "../node-files.ts";
import type { SimulatedNetwork } from "../network.ts";
import { SimulatedThread } from "../thread.ts";

/** How often the reconciler looks at its source, in milliseconds. */
const interval = 30_000;

/** The repository that a world's Sluice follows: the files of its newest commit. */
export class SimulatedRepository implements RevisionSource {
  readonly description = { kind: "dir", url: "repository", path: "." } as const;
  #commits = 0;
  #revision: Revision = revisionOf(0, new Map());
  #onChange: () => void = () => undefined;

  /** The newest commit, whose ids are in their order. */
  get newest(): string {
    return this.#revision.id;
  }

  commit(files: ReadonlyMap<string, string>): void {
    this.#revision = revisionOf((this.#commits += 1), files);
    this.#onChange();
  }

  fetch(): Promise<Revision> {
    return Promise.resolve(this.#revision);
  }

  watch(onChange: () => void): Promise<void> {
    const life = Life.current;
    this.#onChange = () => Life.runIn(life, onChange);
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

function revisionOf(number: number, files: ReadonlyMap<string, string>): Revision {
  const sha = String(number).padStart(40, "0");
  const found = Array.from(files, ([path, text]) => ({ path, bytes: Buffer.from(text) }));
  return { id: `dir@sha256:${sha}`, sha, files: found, skipped: [] };
}

export interface SluiceOptions {
  machine: SimulatedMachine;
  network: SimulatedNetwork;
  repository: RevisionSource;
  /** Values by the names that files use, such as `env:TOKEN`. */
  secrets: ReadonlyMap<string, string>;
  threads: number;
  onLogged: (level: keyof Log, sentence: string, fields: Record<string, unknown>) => void;
}

/** One process of Sluice: the real engine with the real reconciler, on a simulated machine. */
export class SluiceProcess {
  readonly life = new Life();
  readonly threads: SimulatedThread[] = [];
  readonly #options: SluiceOptions;
  /** Resolves when it has opened; rejects where it cannot. */
  readonly opened: Promise<void>;
  #engine: Engine | undefined;
  #reconciler: Reconciler | undefined;
  readonly #stopping = new AbortController();

  constructor(options: SluiceOptions) {
    this.#options = options;
    this.opened = this.life.run(() => this.#open());
    this.opened.catch(() => undefined);
  }

  get engine(): Engine | undefined {
    return this.life.isOver ? undefined : this.#engine;
  }

  get reconciler(): Reconciler | undefined {
    return this.life.isOver ? undefined : this.#reconciler;
  }

  /** SIGKILL: nothing that was not handed to the machine is left, and nothing is cleaned up. */
  kill(): void {
    this.life.end();
    this.#options.machine.killed();
  }

  /** SIGTERM: ends in order; resolves when it has ended. */
  async stop(): Promise<void> {
    await this.life.run(async () => {
      await this.opened.catch(() => undefined);
      this.#stopping.abort();
      await this.#engine?.close();
    });
    this.life.end();
  }

  /** Posts an event; resolves with the status, and never where the process dies before it answers. */
  post(pipeline_id: string, token: string, body: string): Promise<number> {
    const { engine } = this;
    // Nobody listens there yet.
    if (engine === undefined) return Promise.resolve(0);
    return this.life.run(
      () =>
        new Promise((resolve) => {
          const path = `/v1/pipelines/${pipeline_id}/topics/input/events`;
          engine.handleEvents(requestTo(path, { "x-pipeline-access-token": token }, body), responseTo(resolve));
        }),
    );
  }

  /** Exports log records; resolves with the status, and never where the process dies before it answers. */
  export(pipeline_id: string, body: string): Promise<number> {
    const { engine } = this;
    if (engine === undefined) return Promise.resolve(0);
    const request = requestTo("/v1/logs", { "x-sluice-pipeline-id": pipeline_id }, body);
    return this.life.run(() => new Promise((resolve) => engine.handleOtlpHttp(request, responseTo(resolve))));
  }

  async #open(): Promise<void> {
    const { machine, network, repository, secrets, threads, onLogged } = this.#options;
    const log = logTo(onLogged);
    const registry = new Registry();
    const host = machine.host(this.life);
    giveFiles(this.life, { disk: host.disk, contentOf: (path) => machine.disk.contentOf(path) });
    const engine = await Engine.open({
      dataDir,
      log,
      registry,
      threads,
      secrets: { resolve: (text) => Promise.resolve(resolved(text, secrets)) },
      machine: { ...host, spawnThread: () => this.#spawn(network) },
    });
    this.#engine = engine;
    const reconciler = new Reconciler({ source: repository, engine, dataDir, log, registry, interval });
    this.#reconciler = reconciler;
    void reconciler.run(this.#stopping.signal);
  }

  #spawn(network: SimulatedNetwork): SimulatedThread {
    const life = new Life(this.life);
    const disk = this.#options.machine.diskOf(life);
    const socketFactory = network.kafkaSocket as never;
    const thread = new SimulatedThread(life, { disk, agent: network.agent(), socketFactory });
    this.threads.push(thread);
    return thread;
  }
}

function logTo(onLogged: SluiceOptions["onLogged"]): Log {
  const at = (level: keyof Log) => (fields: Record<string, unknown>, sentence: string) =>
    onLogged(level, sentence, fields);
  return { debug: () => undefined, info: at("info"), warn: at("warn"), error: at("error") };
}

function resolved(text: string, secrets: ReadonlyMap<string, string>): string {
  return text.replaceAll(/\$\{([^}]+)\}/g, (reference, name: string) => {
    const value = secrets.get(name);
    if (value === undefined) throw new EngineError("SECRET_NOT_FOUND", `${reference} is not defined`);
    return value;
  });
}

function requestTo(url: string, headers: Record<string, string>, body: string): IncomingMessage {
  const bytes = Buffer.from(body);
  return Object.assign(Readable.from([bytes]), {
    method: "POST",
    url,
    headers: { ...headers, "content-type": "application/json", "content-length": String(bytes.length) },
    complete: true,
  }) as unknown as IncomingMessage;
}

function responseTo(answered: (status: number) => void): ServerResponse {
  return {
    destroyed: false,
    writeHead: (status: number) => answered(status),
    end: () => undefined,
  } as unknown as ServerResponse;
}
