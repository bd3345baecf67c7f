import { randomBytes } from "node:crypto";
import type { Daemon } from "../../../examples/quickstart/daemon.ts";
import { consumerGroup, type PipelineHealth } from "../../../engine/index.ts";
import { freeListeners, Workplace } from "../../support/daemon.ts";
import type { KafkaServers } from "../kafka-servers.ts";
import { longPatience, until } from "../patience.ts";
import { RivalsTable } from "./rivals-table.ts";

/** A topic with events, whose ids are 0 up to `events`. */
export interface Backlog {
  topic: string;
  events: number;
}

export interface RivalsOptions extends KafkaServers {
  backlog: Backlog;
  /** Flags of both processes. */
  flags: readonly string[];
}

/** Inserts of a process that may be under way at one time. */
export const insertsInFlight = 3;
const batchRows = 1_000;

/** Two Sluices, each with a data dir of its own, that run the same pipeline: one topic, one group, one table. */
export class Rivals {
  readonly table: RivalsTable;
  readonly #options: RivalsOptions;
  readonly #pipeline_id: string;
  readonly #places = new Map<string, Workplace>();

  private constructor(options: RivalsOptions, pipeline_id: string, table: RivalsTable) {
    this.#options = options;
    this.#pipeline_id = pipeline_id;
    this.table = table;
  }

  static async meet(options: RivalsOptions): Promise<Rivals> {
    const pipeline_id = `rivals-${randomBytes(6).toString("hex")}`;
    const table = await RivalsTable.create(options.server, pipeline_id.replace("-", "_"));
    return new Rivals(options, pipeline_id, table);
  }

  async clean(): Promise<void> {
    for (const place of this.#places.values()) await place.clean();
  }

  /** Starts one of them, without the pipeline yet. */
  async start(name: string): Promise<Daemon> {
    const place = await Workplace.make();
    this.#places.set(name, place);
    return place.start({
      args: ["--dir", place.pipelines, ...this.#options.flags],
      listeners: await freeListeners(),
      env: { SLUICE_SECRET_CLICKHOUSE: this.#options.server.password },
    });
  }

  /** One gets the pipeline; its rows have its name. */
  async join(name: string, xSluice: Record<string, unknown> = {}): Promise<void> {
    await this.#places.get(name)!.write("pipeline.yaml", this.#file(name, xSluice));
  }

  health(daemon: Daemon): Promise<PipelineHealth> {
    return daemon.get(`/api/v1/pipeline/${this.#pipeline_id}/health`);
  }

  /** Resolves when it is paused because another one owns the group, with the text of the pause. */
  async disowned(daemon: Daemon): Promise<string> {
    let text = "";
    const isPaused = async (): Promise<boolean> => {
      const { paused } = await this.health(daemon);
      if (paused?.class !== "owner") return false;
      text = paused.text;
      return true;
    };
    await until(daemon, "to find another owner of the group", isPaused, longPatience);
    return text;
  }

  /** Does as the pause says: one takes over the run that it names. */
  async takeOver(name: string, paused: string): Promise<void> {
    const run = /run ([0-9a-f]{8})/.exec(paused)?.[1];
    if (run === undefined) throw new Error(`expected the pause of ${name} to name a run, found: ${paused}`);
    await this.join(name, { take_over: run });
  }

  /** Resolves when one has written more than so many rows. */
  async writes(daemon: Daemon, name: string, rows: number): Promise<void> {
    const isWritten = async (): Promise<boolean> => (await this.table.rows(name)) > rows;
    await until(daemon, `to write ${rows} rows`, isWritten, longPatience);
  }

  /** Resolves when the group has all that was produced, and this one has nothing left to write. */
  async finished(daemon: Daemon): Promise<void> {
    const { kafka, backlog } = this.#options;
    const isOver = async (): Promise<boolean> => {
      const ends = await kafka.topics.endOffsets(backlog.topic);
      const next = await kafka.groups.offsets(consumerGroup(this.#pipeline_id), backlog.topic);
      const isRead = ends.every((end, at) => next.find(({ partition }) => partition === at)?.offset === end);
      return isRead && (await this.health(daemon)).pending_batches === 0;
    };
    await until(daemon, "to write all that was produced", isOver, longPatience);
  }

  #file(writer: string, xSluice: Record<string, unknown>): string {
    const { kafka, server, backlog } = this.#options;
    const { port } = new URL(server.url);
    const made = [
      { expression: "id", output_name: "id", output_type: "int" },
      { expression: JSON.stringify(writer), output_name: "writer", output_type: "string" },
    ];
    return `version: v3
pipeline_id: ${this.#pipeline_id}
sources:
  - type: kafka
    source_id: events
    topic: ${backlog.topic}
    schema_fields: [{ name: id, type: int }]
    connection_params: ${JSON.stringify(kafka.connectionParams())}
transforms: ${JSON.stringify([{ type: "stateless", source_id: "events", config: { transforms: made } }])}
sink:
  type: clickhouse
  connection_params:
    { host: 127.0.0.1, port: "9000", http_port: "${port}", database: default, username: ${server.username}, password: "\${env:SLUICE_SECRET_CLICKHOUSE}" }
  table: ${this.table.name}
  mapping:
    - { name: id, column_name: id, column_type: Int64 }
    - { name: writer, column_name: writer, column_type: LowCardinality(String) }
  max_batch_size: ${batchRows}
  max_delay_time: 50ms
resources: { sink: { replicas: ${insertsInFlight} } }
x-sluice: ${JSON.stringify(xSluice)}
`;
  }
}
