import type { PipelineV3 } from "./pipeline-v3.d.ts";

/**
 * A pipeline as the engine and the planner see it: the v3 document with every default filled in and every
 * duration, quantity and alias in one canonical spelling, so that two files that mean the same are deeply equal.
 * Keys are the YAML's keys. It is itself a valid v3 document. `normalise.ts` makes one from a validated file.
 */
export interface PipelineConfig {
  version: "v3";
  pipeline_id: string;
  name: string;
  sources: SourceConfig[];
  /** In the order of execution: filter, dedup, stateless. */
  transforms: TransformConfig[];
  join?: JoinConfig;
  sink: SinkConfig;
  metadata: { tags: string[] };
  resources: ResourcesConfig;
}

export type FieldType = "string" | "bool" | "int" | "uint" | "float" | "array" | "map";

/** One declared field of an event. Unless `required` is false, it must be present and not null in every JSON event. */
export interface SchemaField {
  name: string;
  type: FieldType;
  required?: false;
}

export type SourceConfig = WebhookSourceConfig | KafkaSourceConfig | OtlpSourceConfig;

export interface WebhookSourceConfig {
  type: "webhook";
  source_id: string;
  schema_fields: SchemaField[];
}

export interface KafkaSourceConfig {
  type: "kafka";
  source_id: string;
  topic: string;
  consumer_group_initial_offset: "earliest" | "latest";
  schema_fields: SchemaField[];
  schema_version: string;
  format: "json" | "avro" | "protobuf";
  connection_params: KafkaConnection;
  schema_registry?: { url: string; api_key?: string; api_secret?: string };
}

/** How brokers are reached. SASL is used if there is a mechanism, TLS if the protocol ends with `SSL`. */
export interface KafkaConnection {
  brokers: string[];
  protocol: "PLAINTEXT" | "SASL_PLAINTEXT" | "SSL" | "SASL_SSL";
  mechanism: "NO_AUTH" | "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512" | "GSSAPI";
  username?: string;
  password?: string;
  /** PEM, or PEM in base64. */
  root_ca?: string;
  client_cert?: string;
  client_key?: string;
  skip_tls_verification: boolean;
  [other: string]: unknown;
}

export interface OtlpSourceConfig {
  type: "otlp.logs" | "otlp.traces" | "otlp.metrics";
  source_id: string;
}

/** The field that identifies an event, or two and more that do it together. */
export type DedupKey = string | readonly [string, string, ...string[]];

export type TransformConfig =
  | { type: "filter"; source_id: string; config: { expression: string } }
  | { type: "dedup"; source_id: string; config: { key: DedupKey; time_window: string } }
  | {
      type: "stateless";
      source_id: string;
      config: { transforms: { expression: string; output_name: string; output_type: string }[] };
    };

export interface JoinConfig {
  enabled: true;
  type: "temporal";
  left_source: { source_id: string; key: string; time_window: string };
  right_source: { source_id: string; key: string; time_window: string };
  output_fields: { source_id: string; name: string; output_name: string }[];
}

/** Connection fields besides `host` are absent where `host` is `embedded` and the file left them out. */
export interface SinkConnection {
  /** A host name, or `embedded`: the ClickHouse inside Sluice. */
  host: string;
  port?: string;
  http_port?: string;
  database: string;
  username?: string;
  password?: string;
  secure: boolean;
  skip_certificate_verification: boolean;
}

export interface Mapping {
  /** Field of the schema that feeds the sink. */
  name: string;
  column_name: string;
  column_type: string;
}

export interface SinkConfig {
  type: "clickhouse";
  connection_params: SinkConnection;
  table: string;
  /** Rows. */
  max_batch_size: number;
  /** Canonical duration, such as `1m0s`. */
  max_delay_time: string;
  mapping: Mapping[];
}

export interface ComponentResources {
  replicas: number;
  requests: { cpu?: string; memory?: string };
  limits: { cpu?: string; memory?: string };
}

export interface ResourcesConfig {
  nats: {
    stream: {
      /** Canonical duration. */
      max_age: string;
      /** Canonical quantity in bytes; `"0"` is unlimited. */
      max_bytes: string;
      /** Events; -1 is unlimited. */
      max_msgs: number;
    };
  };
  sources: ({ source_id: string } & ComponentResources)[];
  transform: ({ source_id: string; storage?: { size: string } } & ComponentResources)[];
  sink: ComponentResources;
}

/**
 * The options of the engine from the `x-sluice` key of a file, with every default filled in. A change applies to
 * batches in flight as well. The part that only the reconciler acts on (`state`, `suspend`, `prune`, …) never reaches
 * the engine.
 */
export interface EngineOptions {
  /** Create a missing target database and table from the mapping. Default false. */
  create_table: boolean;
  /** Add columns of the mapping that the target table lacks. Absent: it is paused until the table has them. */
  alter_table?: boolean;
  /**
   * For a batch that may have been written while the target can no longer show whether it was. `insert` (default): it
   * is sent again, so its rows may be doubled. `skip`: it counts as written, so its rows may be missing. `pause`: a
   * person decides.
   */
  on_uncertain: "insert" | "skip" | "pause";
  /**
   * For events that were to be read and are gone from their source. `pause` (default), or `skip`: continue with the
   * remaining ones.
   */
  on_lost: "pause" | "skip";
  /**
   * For a materialized view that refuses rows which the table has stored. `pause` (default), or `skip`: continue
   * without that view.
   */
  on_view_error: "pause" | "skip";
  /**
   * What a column that is not Nullable stores for a field that is null or absent. Absent: its DEFAULT, or the zero value
   * where it has none. `zero`: the zero value. `reject`: nothing, the event is a dead letter.
   */
  null?: "zero" | "reject";
  /** By the source_id; those with settings other than the defaults. */
  sources?: Readonly<Record<string, SourceSettings>>;
  /** The name of the Kafka consumer group. Absent: it depends on the pipeline_id. */
  consumer_group?: string;
  /** Where a Kafka group without offsets begins: `earliest`, `latest` or an ISO 8601 time. Absent: as the source says. */
  start?: string;
  /** From where messages are read again, once for each value (`readRewind`). Absent: nowhere. */
  rewind?: string;
  /** The run of another Sluice whose committed offsets are taken over; the pause `PausedOwner` names it. */
  take_over?: string;
  /** The webhook's token, brought instead of generated: a secret reference such as `${env:ORDERS_TOKEN}`. */
  access_token?: string;
}

/** What Sluice alone knows of a source, where it is not the default. */
export interface SourceSettings {
  /** A record with a null value is a dead letter. Absent: it is skipped and counted. */
  on_tombstone?: "dead_letter";
  /** Another consumer group, at whose offsets the topic begins where the pipeline's own has none. */
  adopt_group?: string;
}

/** The options of a file that sets none. */
export const defaultOptions: EngineOptions = {
  create_table: false,
  on_uncertain: "insert",
  on_lost: "pause",
  on_view_error: "pause",
};

/** The options for the engine of a document. */
export function engineOptions(document: PipelineV3): EngineOptions {
  const {
    create_table = defaultOptions.create_table,
    alter_table,
    on_uncertain = defaultOptions.on_uncertain,
    on_lost = defaultOptions.on_lost,
    on_view_error = defaultOptions.on_view_error,
    null: ofNull,
    sources: written = {},
    consumer_group,
    start,
    rewind,
    take_over,
    access_token,
  } = document["x-sluice"] ?? {};
  const sources = Object.entries(written).flatMap(([source_id, { on_tombstone, adopt_group }]) => {
    const settings: SourceSettings = {
      ...(on_tombstone === "dead_letter" && { on_tombstone }),
      ...(adopt_group !== undefined && { adopt_group }),
    };
    return Object.keys(settings).length === 0 ? [] : [[source_id, settings] as const];
  });
  return {
    create_table,
    on_uncertain,
    on_lost,
    on_view_error,
    ...(alter_table === true && { alter_table }),
    ...(ofNull !== undefined && ofNull !== "default" && { null: ofNull }),
    ...(sources.length > 0 && { sources: Object.fromEntries(sources) }),
    ...(consumer_group !== undefined && { consumer_group }),
    ...(start !== undefined && { start }),
    ...(rewind !== undefined && { rewind: canonicalRewind(rewind) }),
    ...(take_over !== undefined && { take_over }),
    ...(access_token !== undefined && { access_token }),
  };
}

/** Where reading begins again. Offsets are the next ones, by topic and partition; of others nothing changes. */
export type RewindTo =
  | { kind: "earliest" }
  /** The first events at or after a time, in milliseconds since the epoch. */
  | { kind: "time"; time: number }
  | { kind: "offsets"; offsets: readonly { topic: string; partition: number; offset: number }[] };

/**
 * `earliest`, a time in ISO 8601, or offsets such as `orders/0=1200,orders/1=900`; undefined for another text. After `#` comes
 * what makes it another value.
 */
export function readRewind(value: string): RewindTo | undefined {
  const [text = ""] = value.split(" #");
  if (text === "earliest") return { kind: "earliest" };
  if (/^\d{4}-\d\d-\d\dT/.test(text)) return { kind: "time", time: Date.parse(text) };
  const offsets = text.split(",").map((one) => {
    const [, topic = "", partition = "", offset = ""] = /^(.+)\/(\d+)=(\d+)$/.exec(one.trim()) ?? [];
    return { topic, partition: Number(partition), offset: Number(offset) };
  });
  return offsets.every(({ topic }) => topic !== "") ? { kind: "offsets", offsets } : undefined;
}

/** A value in the one spelling of its time: other words for the same are the same value. */
export function canonicalRewind(value: string): string {
  const [text = "", ...label] = value.split(" #");
  const to = readRewind(text);
  const isTime = to?.kind === "time" && !Number.isNaN(to.time);
  return [isTime ? new Date(to.time).toISOString() : text, ...label].join(" #");
}

const basicTypes: readonly (readonly [FieldType, readonly string[]])[] = [
  ["string", ["bytes", "datetime"]],
  ["bool", ["boolean"]],
  ["int", ["int8", "int16", "int32", "int64", "integer"]],
  ["uint", ["uint8", "uint16", "uint32", "uint64"]],
  ["float", ["float32", "float64", "number"]],
  ["array", ["[]string"]],
  ["map", ["object"]],
];

const byName = new Map(basicTypes.flatMap(([basic, names]) => [basic, ...names].map((name) => [name, basic] as const)));

/**
 * The basic type that a type name stands for. Also takes the names that only a
 * stateless output may have. Throws a RangeError for a name that the schema does not allow.
 */
export function basicType(name: string): FieldType {
  const basic = byName.get(name);
  if (basic === undefined) throw new RangeError(`expected the name of a field type, got "${name}"`);
  return basic;
}
