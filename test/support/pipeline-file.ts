import type { SourceFile } from "../../reconciler/language/source-text.ts";

/** A small valid pipeline, as a person writes it. */
export const goodPipeline = `version: v3
pipeline_id: orders-eu
sources:
  - type: webhook
    source_id: orders
    schema_fields:
      - { name: id, type: int64 }
      - { name: amount, type: float64 }
transforms:
  - type: filter
    source_id: orders
    config:
      expression: amount > 0
sink:
  type: clickhouse
  connection_params:
    host: embedded
  table: orders
  mapping:
    - { name: id, column_name: id, column_type: Int64 }
    - { name: amount, column_name: amount, column_type: Float64 }
`;

/** A Kafka pipeline with every section, and nothing to say about. */
export const kafkaPipeline = `version: v3
pipeline_id: orders-eu
sources:
  - type: kafka
    source_id: orders
    connection_params:
      brokers: ["kafka-1:9092"]
      protocol: SASL_SSL
      mechanism: SCRAM-SHA-256
      username: sluice
      password: \${env:KAFKA_PASSWORD}
    topic: orders
    schema_fields:
      - { name: id, type: int64 }
      - { name: amount, type: float64 }
      - { name: user, type: map }
transforms:
  - type: filter
    source_id: orders
    config: { expression: amount > 0 }
  - type: dedup
    source_id: orders
    config: { key: id, time_window: 24h }
  - type: stateless
    source_id: orders
    config:
      transforms:
        - { expression: id, output_name: id, output_type: int64 }
        - { expression: amount * 2, output_name: double, output_type: float64 }
sink:
  type: clickhouse
  connection_params:
    host: clickhouse
    port: "9000"
    http_port: "8123"
    database: shop
    username: writer
    password: \${env:CLICKHOUSE_PASSWORD}
  table: orders
  mapping:
    - { name: id, column_name: id, column_type: Int64 }
    - { name: double, column_name: double, column_type: Float64 }
`;

/** Two Kafka sources and their join, with nothing to say about. */
export const joinPipeline = `version: v3
pipeline_id: orders-eu
sources:
  - type: kafka
    source_id: orders
    connection_params: &kafka { brokers: ["kafka:9092"], protocol: PLAINTEXT }
    topic: orders
    consumer_group_initial_offset: latest
    schema_fields:
      - { name: id, type: int }
      - { name: user_id, type: string }
  - type: kafka
    source_id: users
    connection_params: *kafka
    topic: users
    schema_fields:
      - { name: id, type: string }
      - { name: name, type: string }
join:
  enabled: true
  type: temporal
  left_source: { source_id: orders, key: user_id, time_window: 1h }
  right_source: { source_id: users, key: id, time_window: 7d }
  output_fields:
    - { source_id: orders, name: id }
    - { source_id: users, name: name, output_name: user_name }
sink:
  type: clickhouse
  connection_params: { host: embedded }
  table: orders
  mapping:
    - { name: id, column_name: id, column_type: Int64 }
    - { name: user_name, column_name: user_name, column_type: String }
`;

/** OpenTelemetry logs, likewise. */
export const otlpPipeline = `version: v3
pipeline_id: app-logs
sources:
  - { type: otlp.logs, source_id: logs }
transforms:
  - type: filter
    source_id: logs
    config: { expression: severity_number >= 17 }
  - type: dedup
    source_id: logs
    config: { key: attributes.event.id, time_window: 1h }
sink:
  type: clickhouse
  connection_params: { host: embedded }
  table: logs
  mapping:
    - { name: timestamp, column_name: timestamp, column_type: DateTime64(9) }
    - { name: resource_attributes.service.name, column_name: service, column_type: LowCardinality(String) }
    - { name: attributes, column_name: attributes, column_type: "Map(String, String)" }
`;

/** The good pipeline with one passage replaced by another. Throws if the passage is not there. */
export function changed(passage: string, by: string): string {
  return changedIn(goodPipeline, passage, by);
}

/** The same with another pipeline, and with several passages in turn. */
export function changedIn(pipeline: string, ...passages: string[]): string {
  let text = pipeline;
  for (let index = 0; index < passages.length; index += 2) {
    const passage = passages[index] ?? "";
    if (!text.includes(passage)) throw new Error(`expected the pipeline to hold "${passage}"`);
    text = text.replace(passage, () => passages[index + 1] ?? "");
  }
  return text;
}

export function fileOf(content: string | Uint8Array, path = "orders.yaml"): SourceFile {
  return { path, bytes: typeof content === "string" ? new TextEncoder().encode(content) : content };
}
