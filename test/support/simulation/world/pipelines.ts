/** What a pipeline of a world is, for the whole of its story. */
export interface PipelineShape {
  source: "webhook" | "kafka";
  hasDedup: boolean;
  /** Its rows are made by expressions, and hold the time of their batch. */
  hasStateless: boolean;
  /** Inserts in flight. */
  replicas: number;
  /** Members of the consumer group. */
  members: number;
}

/** What its file says at the moment. */
export interface PipelineFile {
  isThere: boolean;
  state: "Running" | "Stopped" | "Terminated";
  max_batch_size: number;
  /** An edit that needs a restart: the filter drops events of the fate `even`. */
  dropsEven: boolean;
  on_uncertain: "insert" | "skip" | "pause";
  on_lost: "pause" | "skip";
  take_over?: string;
}

/** How long dedup remembers a key, in milliseconds. */
export const dedupWindow = 600_000;

export const firstFile: PipelineFile = {
  isThere: true,
  state: "Running",
  max_batch_size: 4,
  dropsEven: false,
  on_uncertain: "insert",
  on_lost: "pause",
};

/** The id of pipeline number `index`, which is also its table's. */
export function pipelineId(index: number): string {
  return `pipeline-${index}`;
}

/** Where its ClickHouse is: an address, as nobody resolves names here. Each pipeline has its own, so that one may fail alone. */
export function clickHouseHost(index: number): string {
  return `10.0.0.${index + 1}`;
}

/** The first broker of the world's Kafka. */
const kafkaAddress = "kafka-1:9092";

/** Partitions of each topic. A pipeline that reads from Kafka reads the topic with its own id as name. */
export const partitions = 2;

/** The text of a pipeline's file. */
export function fileText(index: number, shape: PipelineShape, file: PipelineFile): string {
  const id = pipelineId(index);
  const fields = [
    { name: "id", type: "int" },
    { name: "key", type: "string" },
    { name: "fate", type: "string" },
    { name: "part", type: "int" },
  ];
  const source =
    shape.source === "webhook"
      ? { type: "webhook", source_id: "events", schema_fields: fields }
      : {
          type: "kafka",
          source_id: "events",
          connection_params: { brokers: [kafkaAddress], protocol: "PLAINTEXT" },
          topic: id,
          consumer_group_initial_offset: "earliest",
          schema_fields: fields,
        };
  const filter = { expression: `fate != "filtered"${file.dropsEven ? ' and fate != "even"' : ""}` };
  const dedup = { type: "dedup", source_id: "events", config: { key: "key", time_window: "10m" } };
  const outputs = fields.map(({ name, type }) => ({ expression: name, output_name: name, output_type: type }));
  const time = { expression: "now().UnixMilli()", output_name: "at", output_type: "int" };
  const stateless = { type: "stateless", source_id: "events", config: { transforms: [...outputs, time] } };
  const transforms = [
    { type: "filter", source_id: "events", config: filter },
    ...(shape.hasDedup ? [dedup] : []),
    ...(shape.hasStateless ? [stateless] : []),
  ];
  const columns = {
    id: "UInt64",
    key: "String",
    fate: "String",
    part: "UInt8",
    ...(shape.hasStateless && { at: "Int64" }),
  };
  return JSON.stringify({
    version: "v3",
    pipeline_id: id,
    name: id,
    sources: [source],
    transforms,
    sink: {
      type: "clickhouse",
      connection_params: {
        host: clickHouseHost(index),
        port: "9000",
        http_port: "8123",
        database: "default",
        username: "writer",
        password: "${env:PASSWORD}",
      },
      table: "events",
      max_batch_size: file.max_batch_size,
      max_delay_time: "200ms",
      mapping: Object.entries(columns).map(([name, column_type]) => ({ name, column_name: name, column_type })),
    },
    resources: {
      sources: [{ source_id: "events", replicas: shape.members }],
      sink: { replicas: shape.replicas },
      nats: { stream: { max_age: "168h" } },
    },
    "x-sluice": {
      state: file.state,
      on_uncertain: file.on_uncertain,
      on_lost: file.on_lost,
      ...(file.take_over !== undefined && { take_over: file.take_over }),
      ...(shape.source === "webhook" && { access_token: "${env:TOKEN}" }),
    },
  });
}
