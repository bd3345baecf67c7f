import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Registry } from "prom-client";
import {
  Engine,
  EngineError,
  type EngineSettings,
  type KafkaSettings,
  type Log,
  type PipelineHealth,
  type SecretSource,
} from "../../engine/index.ts";
import { NearThread } from "./near-thread.ts";
import { SharedEmbedded } from "./shared-clickhouse.ts";

export interface LoggedLine {
  level: "debug" | "info" | "warn" | "error";
  fields: Record<string, unknown>;
  sentence: string;
}

/** A log that keeps its lines. */
export function keptLog(): Log & { lines: LoggedLine[] } {
  const lines: LoggedLine[] = [];
  const at = (level: LoggedLine["level"]) => (fields: Record<string, unknown>, sentence: string) =>
    void lines.push({ level, fields, sentence });
  return { lines, debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** Secrets from a table; anything else is an error. */
export function tableOfSecrets(values: Record<string, string> = {}): { resolve(text: string): Promise<string> } {
  return {
    resolve: async (text) =>
      text.replaceAll(/\$\{([^}]+)\}/g, (reference, name: string) => {
        const value = values[name];
        if (value === undefined) throw new EngineError("SECRET_NOT_FOUND", `${reference} is not defined`);
        return value;
      }),
  };
}

/** A real engine in a folder of its own, with its events listener on a free port. */
export class TestEngine {
  readonly dataDir: string;
  readonly log = keptLog();
  readonly registry = new Registry();
  engine!: Engine;
  #server!: Server;

  private constructor(dataDir: string) {
    this.dataDir = dataDir;
  }

  static async open(
    options: {
      dataDir?: string;
      secrets?: Record<string, string>;
      /** Where secrets come from, instead of a table. */
      from?: SecretSource;
      sweepEvery?: number;
      kafka?: Partial<KafkaSettings>;
      machine?: EngineSettings["machine"];
      threads?: number;
      drainLimit?: number;
      quotas?: Pick<EngineSettings, "deadLetters" | "streamMaxBytes" | "pushRates">;
      /** Carries a ClickHouse of its own, where the tests kill it or look into its folder. */
      ownClickHouse?: boolean;
      /** Runs pipelines in threads, where these are what is tested: each has to load the engine again. */
      realThreads?: boolean;
      /** Takes events, and opens no stream and starts nothing before the test calls `restore`. */
      isRestored?: false;
    } = {},
  ): Promise<TestEngine> {
    const made = new TestEngine(options.dataDir ?? (await mkdtemp(join(tmpdir(), "sluice-test-"))));
    const embedClickHouse = (): SharedEmbedded => new SharedEmbedded({ isNew: options.dataDir === undefined });
    const open = (settings: EngineSettings): Promise<Engine> =>
      options.isRestored === false ? Engine.begin(settings) : Engine.open(settings);
    made.engine = await open({
      dataDir: made.dataDir,
      log: made.log,
      registry: made.registry,
      secrets: options.from ?? tableOfSecrets(options.secrets),
      ...(options.sweepEvery === undefined ? {} : { sweepEvery: options.sweepEvery }),
      ...(options.kafka === undefined ? {} : { kafka: options.kafka }),
      ...(options.drainLimit === undefined ? {} : { drainLimit: options.drainLimit }),
      ...(options.threads === undefined ? {} : { threads: options.threads }),
      ...options.quotas,
      machine: {
        ...(options.ownClickHouse !== true && { embedClickHouse }),
        ...(options.realThreads !== true && { spawnThread: () => new NearThread() }),
        ...options.machine,
      },
    });
    made.#server = createServer(made.engine.handleEvents);
    await new Promise<void>((resolve) => made.#server.listen(0, "127.0.0.1", resolve));
    return made;
  }

  get eventsUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  post(pipeline_id: string, token: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(`${this.eventsUrl}/v1/pipelines/${pipeline_id}/topics/input/events`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-pipeline-access-token": token, ...headers },
      body: typeof body === "string" || body instanceof Uint8Array ? (body as string) : JSON.stringify(body),
    });
  }

  async rows<T = Record<string, unknown>>(query: string): Promise<T[]> {
    const text = await this.engine.sql(query, "JSONEachRow");
    return text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as T);
  }

  /** The ids of the rows of a table, in order. */
  async ids(table: string): Promise<number[]> {
    return (await this.rows<{ id: string }>(`SELECT id FROM ${table} ORDER BY id`)).map(({ id }) => Number(id));
  }

  /** Resolves when the health of a pipeline is as wished. */
  async until(pipeline_id: string, isAsWished: (health: PipelineHealth) => boolean): Promise<PipelineHealth> {
    for (;;) {
      const health = this.engine.health(pipeline_id);
      if (isAsWished(health)) return health;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Ends the engine; the folder goes too unless it is kept for another one. */
  async close({ keep = false } = {}): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    await this.engine.close();
    if (!keep) await rm(this.dataDir, { recursive: true, force: true });
  }
}
