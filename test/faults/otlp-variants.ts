/** An OTLP pipeline whose delivery is put to the test. */
export interface OtlpVariant {
  name: string;
  pipeline_id: string;
  /** It drops records whose id came before: exporters then send again what was answered unclearly. */
  dropsRepeats: boolean;
}

/** The attribute with the id of a record. Its dot is a part of the key, and no step into a map. */
export const idAttribute = "record.id";

export const otlpVariants: readonly OtlpVariant[] = [
  { name: "plain", pipeline_id: "otlp-plain", dropsRepeats: false },
  { name: "dedup", pipeline_id: "otlp-dedup", dropsRepeats: true },
];

export function otlpFileOf({ pipeline_id, dropsRepeats }: OtlpVariant): string {
  const dedup = `{ type: dedup, source_id: input, config: { key: attributes.${idAttribute}, time_window: 1h } }`;
  return `version: v3
pipeline_id: ${pipeline_id}
sources:
  - { type: otlp.logs, source_id: input }
transforms: [${dropsRepeats ? dedup : ""}]
sink:
  type: clickhouse
  connection_params: { host: embedded, database: default }
  table: ${pipeline_id.replaceAll("-", "_")}
  mapping:
    - { name: attributes, column_name: attributes, column_type: "Map(LowCardinality(String), String)" }
  max_batch_size: 500
  max_delay_time: 50ms
x-sluice: { create_table: true }
`;
}
