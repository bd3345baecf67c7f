import type { Daemon } from "../../examples/quickstart/daemon.ts";
import { freeAddress } from "../support/ports.ts";
import type { Signal } from "../../engine/core/push.ts";
import { Control } from "../faults/control.ts";
import { ResidentMemory } from "../faults/resident-memory.ts";
import { freeListeners, Workplace } from "../support/daemon.ts";
import { signals } from "./otlp-bodies.ts";
import { pipelineOf } from "./otlp-request.ts";

/** What each row holds in its table. */
const columns: Readonly<Record<Signal, string>> = { logs: "severity_text", traces: "name", metrics: "metric_name" };

/** `sluice run` with a pipeline for each signal, whose memory is watched. */
export class OtlpTarget {
  readonly daemon: Daemon;
  readonly memory: ResidentMemory;
  readonly http: string;
  readonly grpc: string;
  readonly #place: Workplace;

  private constructor(place: Workplace, daemon: Daemon) {
    this.#place = place;
    this.daemon = daemon;
    this.memory = new ResidentMemory(daemon.pid);
    this.http = daemon.listeners.otlpHttp!;
    this.grpc = daemon.listeners.otlpGrpc!;
  }

  /** `prepare` gives what the process has in its environment besides, and may write further files. */
  static async start(
    prepare: (place: Workplace) => Record<string, string> | Promise<Record<string, string>> = () => ({}),
  ): Promise<OtlpTarget> {
    const place = await Workplace.make();
    try {
      for (const signal of signals) await place.write(`${signal}.yaml`, fileOf(signal));
      const otlp = { otlpGrpc: await freeAddress(), otlpHttp: await freeAddress() };
      const daemon = await place.start({
        env: await prepare(place),
        listeners: { ...(await freeListeners()), ...otlp },
      });
      for (const signal of signals)
        await daemon.until(() => daemon.health(pipelineOf(signal)), "to have its pipelines");
      return new OtlpTarget(place, daemon);
    } catch (error) {
      await place.clean();
      throw error;
    }
  }

  /** Rows and dead letters of a signal, when all of it is settled. */
  async written(signal: Signal): Promise<{ rows: number; letters: number }> {
    const { dead_letters } = await this.daemon.settled(pipelineOf(signal));
    const [[count] = []] = await new Control(this.daemon).query(`SELECT count() FROM fuzz_${signal}`);
    return { rows: Number(count), letters: dead_letters.total_messages };
  }

  async close(): Promise<void> {
    this.memory.stop();
    await this.#place.clean();
  }
}

function fileOf(signal: Signal): string {
  return `version: v3
pipeline_id: ${pipelineOf(signal)}
sources:
  - { type: otlp.${signal}, source_id: input }
sink:
  type: clickhouse
  connection_params: { host: embedded, database: default }
  table: fuzz_${signal}
  mapping:
    - { name: ${columns[signal]}, column_name: text, column_type: String }
  max_batch_size: 5000
  max_delay_time: 100ms
resources: { nats: { stream: { max_msgs: -1 } } }
x-sluice: { create_table: true }
`;
}
