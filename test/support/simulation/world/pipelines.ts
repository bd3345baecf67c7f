import type { TargetShape } from "./targets.ts";

/** What a pipeline of a world is, for the whole of its story. */
export interface PipelineShape {
  /** `join`: of two topics, the left one with the name of its pipeline. It has neither dedup nor transforms. */
  source: "webhook" | "kafka" | "otlp" | "join";
  target: TargetShape;
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
  /** Where the nodes of Kafka are. */
  brokers: readonly string[];
  isThere: boolean;
  state: "Running" | "Stopped" | "Terminated";
  max_batch_size: number;
  /** An edit that needs a restart: the filter drops events of the fate `even`. */
  dropsEven: boolean;
  on_uncertain: "insert" | "skip" | "pause";
  on_lost: "pause" | "skip";
  on_view_error: "pause" | "skip";
  take_over?: string;
}

/** How long dedup remembers a key, in milliseconds. */
export const dedupWindow = 600_000;

export const firstFile: Omit<PipelineFile, "brokers"> = {
  isThere: true,
  state: "Running",
  max_batch_size: 4,
  dropsEven: false,
  on_uncertain: "insert",
  on_lost: "pause",
  on_view_error: "pause",
};

/** The id of pipeline number `index`, which is also its table's. */
export function pipelineId(index: number): string {
  return `pipeline-${index}`;
}

/** Where its ClickHouse is: an address, as nobody resolves names here. Each pipeline has its own, so that one may fail alone. */
export function clickHouseHost(index: number): string {
  return `10.0.0.${index + 1}`;
}

/** Partitions of each topic. A pipeline that reads from Kafka reads the topic with its own id as name. */
export const partitions = 2;

/** The topic of the right side of a join. */
export function rightTopic(index: number): string {
  return `${pipelineId(index)}-partners`;
}

/** The topics that a pipeline reads. */
export function topicsOf(index: number, { source }: PipelineShape): string[] {
  if (source === "webhook" || source === "otlp") return [];
  return source === "join" ? [pipelineId(index), rightTopic(index)] : [pipelineId(index)];
}

const fields = [
  { name: "id", type: "int" },
  { name: "key", type: "string" },
  { name: "fate", type: "string" },
  { name: "part", type: "int" },
];

const columnTypes: Readonly<Record<string, string>> = {
  id: "UInt64",
  key: "String",
  fate: "String",
  part: "UInt8",
  at: "Int64",
  partner: "UInt64",
};

/** The text of a pipeline's file. */
export function fileText(index: number, shape: PipelineShape, file: PipelineFile): string {
  const id = pipelineId(index);
  const isJoin = shape.source === "join";
  const columns = [
    ...fields.map(({ name }) => name),
    ...(isJoin ? ["partner"] : []),
    ...(shape.hasStateless && !isJoin ? ["at"] : []),
  ];
  return JSON.stringify({
    version: "v3",
    pipeline_id: id,
    name: id,
    sources: sourcesOf(index, shape, file),
    ...(isJoin ? { join } : { transforms: transformsOf(shape, file) }),
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
      mapping: columns.map((name) => ({ name, column_name: name, column_type: columnTypes[name] })),
    },
    resources: {
      ...(shape.source !== "otlp" && { sources: [{ source_id: "events", replicas: shape.members }] }),
      sink: { replicas: shape.replicas },
      nats: { stream: { max_age: "168h" } },
    },
    "x-sluice": {
      state: file.state,
      on_uncertain: file.on_uncertain,
      on_lost: file.on_lost,
      on_view_error: file.on_view_error,
      ...(file.take_over !== undefined && { take_over: file.take_over }),
      ...(shape.source === "webhook" && { access_token: "${env:TOKEN}" }),
    },
  });
}

/** Endless windows: a left event meets its partner whenever either comes. */
const join = {
  enabled: true,
  type: "temporal",
  left_source: { source_id: "events", key: "key", time_window: "0" },
  right_source: { source_id: "partners", key: "key", time_window: "0" },
  output_fields: [
    ...fields.map(({ name }) => ({ source_id: "events", name })),
    { source_id: "partners", name: "id", output_name: "partner" },
  ],
};

function kafkaSource(source_id: string, topic: string, { brokers }: PipelineFile): object {
  return {
    type: "kafka",
    source_id,
    connection_params: { brokers, protocol: "PLAINTEXT" },
    topic,
    consumer_group_initial_offset: "earliest",
    schema_fields: fields,
  };
}

function sourcesOf(index: number, { source }: PipelineShape, file: PipelineFile): object[] {
  switch (source) {
    case "webhook":
      return [{ type: "webhook", source_id: "events", schema_fields: fields }];
    case "otlp":
      return [{ type: "otlp.logs", source_id: "events" }];
    case "kafka":
      return [kafkaSource("events", pipelineId(index), file)];
    default:
      return [kafkaSource("events", pipelineId(index), file), kafkaSource("partners", rightTopic(index), file)];
  }
}

function transformsOf({ source, hasDedup, hasStateless }: PipelineShape, { dropsEven }: PipelineFile): object[] {
  const isOtlp = source === "otlp";
  // Attributes are texts, which only an expression makes numbers of.
  const named = (name: string): string => (isOtlp ? `attributes["${name}"]` : name);
  const fate = named("fate");
  const filter = { expression: `${fate} != "filtered"${dropsEven ? ` and ${fate} != "even"` : ""}` };
  const dedup = { key: isOtlp ? "attributes.key" : "key", time_window: "10m" };
  const outputs = fields.map(({ name, type }) => ({
    expression: isOtlp && type === "int" ? `int(${named(name)})` : named(name),
    output_name: name,
    output_type: type,
  }));
  const time = { expression: "now().UnixMilli()", output_name: "at", output_type: "int" };
  const transforms = [...outputs, ...(hasStateless ? [time] : [])];
  return [
    { type: "filter", source_id: "events", config: filter },
    ...(hasDedup ? [{ type: "dedup", source_id: "events", config: dedup }] : []),
    ...(hasStateless || isOtlp ? [{ type: "stateless", source_id: "events", config: { transforms } }] : []),
  ];
}
