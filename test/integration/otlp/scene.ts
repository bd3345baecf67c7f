import type { Signal } from "../../../engine/core/push.ts";
import type { PipelineHealth } from "../../../engine/index.ts";
import { normalise } from "../../../schemas/index.ts";
import type { Mapping, PipelineConfig } from "../../../schemas/pipeline.ts";
import { TestEngine } from "../../support/engine.ts";
import { Listeners } from "./listeners.ts";

/** An OTLP pipeline into the embedded ClickHouse, by default with the times of logs alone; `over` replaces root keys. */
export function otlpPipeline(
  pipeline_id: string,
  signal: Signal = "logs",
  over: Record<string, unknown> & { mapping?: Mapping[] } = {},
): PipelineConfig {
  const { mapping = [{ name: "timestamp", column_name: "timestamp", column_type: "DateTime64(9)" }], ...rest } = over;
  return normalise({
    version: "v3",
    pipeline_id,
    sources: [{ type: `otlp.${signal}`, source_id: "input" }],
    sink: {
      type: "clickhouse",
      connection_params: { host: "embedded", database: "default" },
      table: tableOf(pipeline_id),
      max_batch_size: 500,
      max_delay_time: "50ms",
      mapping,
    },
    ...rest,
  } as never);
}

export function tableOf(pipeline_id: string): string {
  return pipeline_id.replaceAll("-", "_");
}

/** A real engine with OTLP listeners. */
export class OtlpScene {
  readonly listeners: Listeners;
  readonly running: TestEngine;

  private constructor(running: TestEngine, listeners: Listeners) {
    this.running = running;
    this.listeners = listeners;
  }

  static async open(options: { dataDir?: string } = {}): Promise<OtlpScene> {
    const running = await TestEngine.open(options);
    const { handleOtlpHttp: http, handleOtlpGrpc: grpc } = running.engine;
    return new OtlpScene(running, await Listeners.open({ http, grpc }));
  }

  /** Resolves when everything that was taken is settled. */
  settled(pipeline_id: string): Promise<PipelineHealth> {
    return this.running.until(pipeline_id, ({ stream, pending_batches, overall_status, failure }) => {
      if (overall_status === "Failed") throw new Error(`${pipeline_id} failed: ${failure}`);
      return stream!.messages + pending_batches === 0;
    });
  }

  async count(pipeline_id: string): Promise<number> {
    const [row] = await this.running.rows<{ n: string | number }>(`SELECT count() AS n FROM ${tableOf(pipeline_id)}`);
    return Number(row?.n);
  }

  /** The value of a metric, by the start of its line. */
  async metric(name: string, line: string): Promise<number> {
    const text = await this.running.registry.getSingleMetricAsString(name);
    const found = text.split("\n").find((one) => one.startsWith(`${name}{${line}}`));
    return found === undefined ? 0 : Number(found.split(" ").at(-1));
  }

  /** Ends the listeners and the engine; the folder goes too unless it is kept for another one. */
  async close(options: { keep?: boolean } = {}): Promise<void> {
    await this.listeners.close();
    await this.running.close(options);
  }
}
