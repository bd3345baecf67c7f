import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { OperationRecord } from "../../../reconciler/apply/history.ts";
import { settledFolder } from "../../support/settled-folder.ts";
import { Reconciler } from "../../../reconciler/reconciler.ts";
import { TestEngine } from "../../support/engine.ts";

const token = "t0ken-of-the-tests";

/** A reconciler of a folder, on a real engine: a webhook pipeline `orders`, whose file has `${T}` for its token, and others. */
export class OrdersScene {
  readonly engine: TestEngine;
  readonly #files: string;
  readonly #reconciler: Reconciler;

  private constructor(running: TestEngine) {
    const { dataDir, engine, log, registry } = running;
    this.engine = running;
    this.#files = join(dataDir, "files");
    const source = settledFolder(this.#files);
    this.#reconciler = new Reconciler({ source, engine, dataDir, log, registry, interval: 60_000 });
  }

  static async open(): Promise<OrdersScene> {
    const scene = new OrdersScene(await TestEngine.open({ secrets: { T: token } }));
    await mkdir(scene.#files);
    return scene;
  }

  close(): Promise<void> {
    return this.engine.close();
  }

  /** Writes the file of a pipeline, or removes it. */
  say(pipeline_id: string, text?: string): Promise<void> {
    const file = join(this.#files, `${pipeline_id}.yaml`);
    return text === undefined ? rm(file) : writeFile(file, text);
  }

  /** One turn of the reconciler; gives what became of `orders`. */
  async turn(): Promise<string | undefined> {
    const { outcomes = [], error } = await this.#reconciler.turn("manual", new AbortController().signal);
    if (error !== undefined) throw error;
    return outcomes.find(({ pipeline_id }) => pipeline_id === "orders")?.result;
  }

  /** What Ready says of `orders`. */
  ready(): { reason?: string; message?: string } {
    const { pipelines } = this.#reconciler.snapshot();
    return pipelines.find(({ pipeline_id }) => pipeline_id === "orders")?.conditions[0] ?? {};
  }

  /** What was done, newest first. */
  history(): OperationRecord[] {
    return this.#reconciler.history({ limit: 1_000 }).records;
  }

  /** Sends an event to `orders`; gives the status of the answer. One with a text for its id becomes a dead letter. */
  async send(id: number | string): Promise<number> {
    return (await this.engine.post("orders", token, { id, level: "error" })).status;
  }

  async createTable(constraint = ""): Promise<void> {
    await this.engine.engine.sql(
      `CREATE TABLE orders (id Int64, level String${constraint}) ENGINE = MergeTree ORDER BY id SETTINGS non_replicated_deduplication_window = 100`,
    );
  }

  /** The ids in the table. */
  async ids(): Promise<number[]> {
    const rows = await this.engine.rows<{ id: string }>("SELECT id FROM orders ORDER BY id");
    return rows.map(({ id }) => Number(id));
  }
}
