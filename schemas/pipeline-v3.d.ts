/** Generated from pipeline-v3.schema.json by `npm run schemas`. Change the schema, not this file. */

export type PipelineId = string;

/**
 * A pipeline file of version v3, with the x-sluice key.
 */
export interface PipelineV3 {
  /**
   * Version of this format.
   */
  version: "v3";
  /**
   * Name of the pipeline for machines.
   */
  pipeline_id: string;
  /**
   * Name of the pipeline for people. Default: pipeline_id in words: Orders Eu for orders-eu.
   */
  name?: string;
  /**
   * Where events come from. Those of several sources go into one table, each through its own transforms: the mapping has to hold for each.
   *
   * @minItems 1
   * @maxItems 100
   */
  sources: (WebhookSourceDocument | KafkaSourceDocument | OtlpSourceDocument)[];
  /**
   * Steps between source and sink. They run in the order filter, dedup, stateless. Default: [].
   *
   * @maxItems 200
   */
  transforms?: (FilterDocument | DedupDocument | StatelessDocument)[];
  join?: JoinDocument;
  sink: SinkDocument;
  /**
   * Notes for people.
   */
  metadata?: {
    /**
     * Labels. Default: [].
     */
    tags?: string[] | null;
  };
  resources?: ResourcesDocument;
  "x-sluice"?: SluiceDirectives;
}
/**
 * Events that are pushed to Sluice over HTTP.
 */
export interface WebhookSourceDocument {
  /**
   * A webhook: events are pushed over HTTP.
   */
  type: "webhook";
  /**
   * Name of the source inside this pipeline.
   */
  source_id: string;
  /**
   * The declared fields of an event.
   *
   * @minItems 1
   */
  schema_fields: SchemaFieldDocument[];
}
/**
 * One declared field. Unless it is not required, it must be present and not null in every JSON event.
 */
export interface SchemaFieldDocument {
  /**
   * Name of a field of the event. May contain dots: the literal key is tried first, then the nested path.
   */
  name: string;
  /**
   * Kind of its value. Precision names such as int64 mean their basic type; datetime means string.
   */
  type:
    | "string"
    | "bool"
    | "int"
    | "uint"
    | "float"
    | "array"
    | "map"
    | "int8"
    | "int16"
    | "int32"
    | "int64"
    | "uint8"
    | "uint16"
    | "uint32"
    | "uint64"
    | "float32"
    | "float64"
    | "bytes"
    | "integer"
    | "number"
    | "boolean"
    | "object"
    | "datetime";
  /**
   * Whether every event must have the field. One that is absent or null is NULL in a Nullable column, else what x-sluice.null says. Default: true.
   */
  required?: boolean;
}
/**
 * Events that are read from a Kafka topic.
 */
export interface KafkaSourceDocument {
  /**
   * A Kafka topic.
   */
  type: "kafka";
  /**
   * Name of the source inside this pipeline.
   */
  source_id: string;
  connection_params: KafkaConnection;
  /**
   * Topic to read. After a change, the new topic is read from its beginning, or from x-sluice.start; messages of the old topic that were not read yet stay unread. The same applies to a source that is added or removed.
   */
  topic: string;
  /**
   * The declared fields of an event.
   *
   * @minItems 1
   */
  schema_fields?: SchemaFieldDocument[];
  /**
   * Schema registry of the topic.
   */
  schema_registry?: {
    /**
     * Address of the registry.
     */
    url: string;
    /**
     * Key of the registry. Use a reference such as `${env:NAME}`.
     */
    api_key?: string;
    /**
     * Secret of the registry. Use a reference such as `${env:NAME}`.
     */
    api_secret?: string;
  };
  /**
   * Version of the schema, a decimal number. Default: "1".
   */
  schema_version?: string;
  /**
   * Where to begin when the group has committed nothing. Default: "earliest".
   */
  consumer_group_initial_offset?: "earliest" | "latest";
  /**
   * Format of the messages. Default: "json".
   */
  format?: "json" | "avro" | "protobuf";
  /**
   * Inline schema for avro and protobuf; for json it may declare the fields in place of schema_fields.
   */
  schema?: {
    /**
     * Text of the .avsc or .proto file.
     */
    file?: string;
    /**
     * Root message of the protobuf schema.
     */
    message_type?: string;
    /**
     * In place of schema_fields, as clients of the reference service write it.
     */
    fields?: SchemaFieldDocument[];
    /**
     * Present when a pipeline is read, ignored when it is written.
     */
    parsed_fields?: SchemaFieldDocument[];
  };
}
/**
 * How to reach Kafka.
 */
export interface KafkaConnection {
  /**
   * Addresses, host:port; those of IPv6 in brackets, [::1]:9092. Where none of them was there before, they may be another cluster: what was not read yet at the old ones then stays unread, and the plan is of the class forget.
   *
   * @minItems 1
   */
  brokers: string[];
  /**
   * How to talk to the brokers.
   */
  protocol: "PLAINTEXT" | "SASL_PLAINTEXT" | "SSL" | "SASL_SSL";
  /**
   * SASL mechanism. Default: "NO_AUTH".
   */
  mechanism?: "NO_AUTH" | "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512" | "GSSAPI";
  /**
   * User.
   */
  username?: string;
  /**
   * Password. Use a reference such as `${env:NAME}`.
   */
  password?: string;
  /**
   * Kept and otherwise ignored.
   */
  skip_auth?: boolean;
  /**
   * CA certificate: PEM or base64 of PEM. Default: the CAs of the system.
   */
  root_ca?: string;
  /**
   * Client certificate: PEM or base64 of PEM.
   */
  client_cert?: string;
  /**
   * Client key: PEM or base64 of PEM. Use a reference such as `${env:NAME}`.
   */
  client_key?: string;
  /**
   * Do not check the brokers' certificates. Default: false.
   */
  skip_tls_verification?: boolean;
  /**
   * Kerberos service name.
   */
  kerberos_service_name?: string;
  /**
   * Kerberos realm.
   */
  kerberos_realm?: string;
  /**
   * Keytab, base64. Use a reference such as `${env:NAME}`.
   */
  kerberos_keytab?: string;
  /**
   * Text of krb5.conf.
   */
  kerberos_config?: string;
}
/**
 * Telemetry that is pushed with OTLP. Its fields are fixed by the signal.
 */
export interface OtlpSourceDocument {
  /**
   * An OpenTelemetry signal.
   */
  type: "otlp.logs" | "otlp.traces" | "otlp.metrics";
  /**
   * Name of the source inside this pipeline.
   */
  source_id: string;
  /**
   * Ignored.
   */
  schema_version?: string;
  /**
   * Ignored.
   */
  consumer_group_initial_offset?: string;
}
/**
 * Keeps the events for which an expression is true.
 */
export interface FilterDocument {
  /**
   * Drops events.
   */
  type: "filter";
  /**
   * source_id of the source whose events it sees.
   */
  source_id: string;
  /**
   * Settings of the filter.
   */
  config: {
    /**
     * Events for which it is true are kept, others are dropped.
     */
    expression: string;
  };
}
/**
 * Drops events whose key was seen within a window.
 */
export interface DedupDocument {
  /**
   * Drops repeats.
   */
  type: "dedup";
  /**
   * source_id of the source whose events it sees.
   */
  source_id: string;
  /**
   * Settings of the deduplication.
   */
  config: {
    /**
     * Field that identifies an event, or a list of fields that do it together.
     *
     * @minItems 1
     * @maxItems 16
     */
    key: string | string[];
    /**
     * How long a key is remembered.
     */
    time_window: string;
  };
}
/**
 * Computes a new event from each event with expressions.
 */
export interface StatelessDocument {
  /**
   * Computes new fields.
   */
  type: "stateless";
  /**
   * source_id of the source whose events it sees.
   */
  source_id: string;
  /**
   * Settings of the transformation.
   */
  config: {
    /**
     * The fields of the new event; nothing else is passed on.
     *
     * @minItems 1
     */
    transforms: {
      /**
       * Computes the field.
       */
      expression: string;
      /**
       * Name of the field.
       */
      output_name: string;
      /**
       * Type of the field.
       */
      output_type:
        | "string"
        | "bool"
        | "int"
        | "uint"
        | "float"
        | "array"
        | "map"
        | "int8"
        | "int16"
        | "int32"
        | "int64"
        | "uint8"
        | "uint16"
        | "uint32"
        | "uint64"
        | "float32"
        | "float64"
        | "bytes"
        | "integer"
        | "number"
        | "boolean"
        | "object"
        | "datetime"
        | "[]string";
    }[];
  };
}
/**
 * Joins two sources: topics of Kafka, or sources whose events are pushed.
 */
export interface JoinDocument {
  /**
   * A disabled join has no effect.
   */
  enabled: boolean;
  /**
   * Kind of join; join and temporal are the same. Default: "temporal".
   */
  type?: "join" | "temporal" | "";
  left_source?: JoinSide;
  right_source?: JoinSide1;
  /**
   * Fields of the joined event.
   *
   * @minItems 1
   */
  output_fields?: {
    /**
     * source_id that has the field.
     */
    source_id: string;
    /**
     * Field of that source.
     */
    name: string;
    /**
     * Its name in the joined event. Default: name.
     */
    output_name?: string;
  }[];
}
/**
 * One side of a join.
 */
export interface JoinSide {
  /**
   * source_id of the side.
   */
  source_id: string;
  /**
   * Field that must be equal on both sides.
   */
  key: string;
  /**
   * How long an event waits for its partner; 0: without an end.
   */
  time_window: string;
}
/**
 * One side of a join.
 */
export interface JoinSide1 {
  /**
   * source_id of the side.
   */
  source_id: string;
  /**
   * Field that must be equal on both sides.
   */
  key: string;
  /**
   * How long an event waits for its partner; 0: without an end.
   */
  time_window: string;
}
/**
 * Where rows go.
 */
export interface SinkDocument {
  /**
   * Kind of sink.
   */
  type: "clickhouse";
  connection_params: SinkConnectionDocument;
  /**
   * Table to write to.
   */
  table: string;
  /**
   * A source, as some clients name it here. Ignored: rows of all sources come to the sink.
   */
  source_id?: string;
  /**
   * Rows of an insert at most. Default: 1000.
   */
  max_batch_size?: number;
  /**
   * How long a row waits for its insert at most; 0 means 60s. Default: "60s".
   */
  max_delay_time?: string;
  /**
   * One entry for each column that is written.
   */
  mapping?: {
    /**
     * Field of the schema that feeds the sink.
     */
    name: string;
    /**
     * Column of the table.
     */
    column_name: string;
    /**
     * ClickHouse type of the column. Digits of a second beyond those of a DateTime, DateTime64, Time or Time64 are cut off. A null within an array, a map, a tuple or a typed path of JSON makes the event a dead letter, unless the type within is Nullable.
     */
    column_type: string;
  }[];
}
/**
 * How to reach ClickHouse.
 */
export interface SinkConnectionDocument {
  /**
   * Host name, or `embedded`: the ClickHouse inside Sluice.
   */
  host: string;
  /**
   * Port of the native protocol, a string.
   */
  port?: string;
  /**
   * Port of the HTTP protocol, a string. Default: 8123 for port 9000, 8443 for port 9440, else port.
   */
  http_port?: string;
  /**
   * Database of the table. Default: default, if host is embedded.
   */
  database?: string;
  /**
   * User.
   */
  username?: string;
  /**
   * Password. Use a reference such as `${env:NAME}`.
   */
  password?: string;
  /**
   * Use TLS. Default: false.
   */
  secure?: boolean;
  /**
   * Do not check the server's certificate. Default: false.
   */
  skip_certificate_verification?: boolean;
}
/**
 * How much the pipeline may use.
 */
export interface ResourcesDocument {
  /**
   * Limits of the pipeline's stream.
   */
  nats?: {
    /**
     * Limits of the pipeline's stream.
     */
    stream?: {
      /**
       * How long an event is kept. Default: "24h".
       */
      max_age?: string;
      /**
       * Other spelling of max_age.
       */
      maxAge?: string;
      /**
       * Size of the stream at most; "0" is unlimited. Default: "0".
       */
      max_bytes?: string;
      /**
       * Other spelling of max_bytes.
       */
      maxBytes?: string;
      /**
       * Events in the stream at most; -1 is unlimited. Default: 8 x max_batch_size, also for 0.
       */
      max_msgs?: number;
      /**
       * Other spelling of max_msgs.
       */
      maxMsgs?: number;
    };
  };
  /**
   * Resources of sources.
   */
  sources?: {
    /**
     * source_id of a source.
     */
    source_id: string;
    /**
     * Members of the Kafka group; a webhook has one. Default: 1.
     */
    replicas?: number;
    /**
     * What the stage requests.
     */
    requests?: {
      /**
       * Processor time such as 500m. Kept and shown, not enforced. Default: "100m".
       */
      cpu?: string;
      /**
       * Memory such as 512Mi. Default: "128Mi".
       */
      memory?: string;
    };
    /**
     * What the stage may use.
     */
    limits?: {
      /**
       * Processor time such as 500m. Kept and shown, not enforced. Default: "1500m".
       */
      cpu?: string;
      /**
       * Memory such as 512Mi; it caps the buffers. Default: "1.5Gi".
       */
      memory?: string;
    };
  }[];
  /**
   * Resources of the transforms of a source, and of its side of a join.
   */
  transform?: {
    /**
     * source_id of a source.
     */
    source_id: string;
    /**
     * Store of the dedup keys; only with a dedup transform.
     */
    storage?: {
      /**
       * Limit of the key store. Default: "10Gi".
       */
      size?: string;
    };
    /**
     * Workers. Immutable while dedup is on. Default: 1.
     */
    replicas?: number;
    /**
     * What the stage requests.
     */
    requests?: {
      /**
       * Processor time such as 500m. Kept and shown, not enforced. Default: "100m".
       */
      cpu?: string;
      /**
       * Memory such as 512Mi. Default: "128Mi".
       */
      memory?: string;
    };
    /**
     * What the stage may use.
     */
    limits?: {
      /**
       * Processor time such as 500m. Kept and shown, not enforced. Default: "1500m".
       */
      cpu?: string;
      /**
       * Memory such as 512Mi; it caps the buffers. Default: "1.5Gi".
       */
      memory?: string;
    };
  }[];
  /**
   * Resources of the sink.
   */
  sink?: {
    /**
     * Inserts in flight. Default: 1.
     */
    replicas?: number;
    /**
     * What the stage requests.
     */
    requests?: {
      /**
       * Processor time such as 500m. Kept and shown, not enforced. Default: "100m".
       */
      cpu?: string;
      /**
       * Memory such as 512Mi. Default: "128Mi".
       */
      memory?: string;
    };
    /**
     * What the stage may use.
     */
    limits?: {
      /**
       * Processor time such as 500m. Kept and shown, not enforced. Default: "1500m".
       */
      cpu?: string;
      /**
       * Memory such as 512Mi; it caps the buffers. Default: "1.5Gi".
       */
      memory?: string;
    };
  };
}
/**
 * Settings of Sluice beyond the v3 format.
 */
export interface SluiceDirectives {
  /**
   * The wanted state of the pipeline. Default: "Running".
   */
  state?: "Running" | "Stopped" | "Terminated";
  /**
   * Report on this pipeline and change nothing. Default: false.
   */
  suspend?: boolean;
  /**
   * false keeps the pipeline when its file is removed. Default: true.
   */
  prune?: boolean;
  /**
   * Pipelines that must be running before this one is changed. Default: [].
   *
   * @maxItems 100
   */
  depends_on?: PipelineId[];
  /**
   * Take over a running pipeline that differs from the file. Default: false.
   */
  adopt?: boolean;
  /**
   * What to do when the pipeline is changed, stopped or deleted through the engine and not in its file: correct it, report it, or ignore it. Default: "correct".
   */
  drift?: "correct" | "report" | "ignore";
  /**
   * Carry out a refused change by recreating the pipeline: accepted events are written first; dead letters, dedup keys and a generated token are lost; the Kafka consumer group is kept. With another consumer_group the topic is read again, unless adopt_group names the former group. Default: false.
   */
  recreate?: boolean;
  /**
   * The pipeline_id that this pipeline had before. It goes on with what is stored of it: events, offsets, token, dedup keys, dead letters and history. Several, the newest first, where a server may skip commits. Default: none.
   *
   * @maxItems 16
   */
  moved_from?: string | PipelineId[];
  /**
   * Whether a filter from version v2 was reviewed: false blocks the pipeline until then.
   */
  filters_reviewed?: boolean;
  /**
   * Token of the webhook, in place of a generated one. Use a reference such as `${env:NAME}`. Default: a generated one.
   */
  access_token?: string;
  /**
   * Create a missing target table from the mapping. Default: false.
   */
  create_table?: boolean;
  /**
   * Add columns of the mapping that the target table lacks. Nothing is ever dropped or changed. Default: false.
   */
  alter_table?: boolean;
  /**
   * Where a consumer group without committed offsets begins: earliest, latest or an ISO 8601 time. Default: consumer_group_initial_offset of the source.
   */
  start?: string;
  /**
   * From where messages are read again, once for each value: earliest, an ISO 8601 time, or offsets of partitions. What was carried out is not carried out again, also after a revert; a text after # makes it another value.
   */
  rewind?: string;
  /**
   * The name of the consumer group, as the rights of the cluster ask for one. No other consumer may use it. Default: sluice-consumer-group- and 8 digits that depend on the pipeline_id.
   */
  consumer_group?: string;
  /**
   * What to do with a batch that may or may not have been written: send it again (rows may be doubled), count it as written (rows may be missing), or pause. Default: "insert".
   */
  on_uncertain?: "insert" | "skip" | "pause";
  /**
   * What to do when events that were to be read are gone from their source: pause, or continue with the remaining ones. Default: "pause".
   */
  on_lost?: "pause" | "skip";
  /**
   * What to do when a materialized view refuses rows that the table has stored: pause, or continue without that view. Default: "pause".
   */
  on_view_error?: "pause" | "skip";
  /**
   * Further settings of sources, by their source_id.
   */
  sources?: {
    [k: string]: SourceSettings;
  };
  /**
   * What a column that is not Nullable stores for a field that is null or absent: its DEFAULT (where it has none, 0, an empty text and their like), zero in any case, or nothing: the event is a dead letter. Default: "default".
   */
  null?: "default" | "zero" | "reject";
  /**
   * The run of another Sluice, as the pause PausedOwner names it: this one continues from the offsets that it committed.
   */
  take_over?: string;
}
/**
 * What Sluice alone knows of a source.
 */
export interface SourceSettings {
  /**
   * What becomes of a record with a null value, which stands for a delete: skip it (counted), or make it a dead letter. Default: "skip".
   */
  on_tombstone?: "skip" | "dead_letter";
  /**
   * Another consumer group, at whose committed offsets the topic begins where the pipeline's own group has none. It must have no members any more. Default: the topic begins as start says.
   */
  adopt_group?: string;
}
