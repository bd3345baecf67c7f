import type { EngineOptions, PipelineConfig } from "../../schemas/pipeline.ts";
import { defaultOptions, normalise } from "../../schemas/index.ts";

/** A webhook pipeline into the embedded ClickHouse with the fields id (int) and level (string); `over` replaces root keys. */
export function webhookPipeline(pipeline_id: string, over: Record<string, unknown> = {}): PipelineConfig {
  return normalise({
    version: "v3",
    pipeline_id,
    sources: [
      {
        type: "webhook",
        source_id: "input",
        schema_fields: [
          { name: "id", type: "int" },
          { name: "level", type: "string" },
        ],
      },
    ],
    sink: {
      type: "clickhouse",
      connection_params: { host: "embedded", database: "default" },
      table: pipeline_id.replaceAll("-", "_"),
      max_batch_size: 500,
      max_delay_time: "100ms",
      mapping: [
        { name: "id", column_name: "id", column_type: "Int64" },
        { name: "level", column_name: "level", column_type: "String" },
      ],
    },
    ...over,
  } as never);
}

/** The same with a transform that makes the level upper case. */
export function upperCasePipeline(pipeline_id: string): PipelineConfig {
  const transforms = [
    { expression: "id", output_name: "id", output_type: "int" },
    { expression: "upper(level)", output_name: "level", output_type: "string" },
  ];
  return webhookPipeline(pipeline_id, {
    transforms: [{ type: "stateless", source_id: "input", config: { transforms } }],
  });
}

export const createTable: EngineOptions = { ...defaultOptions, create_table: true };

/** A Kafka pipeline with the same fields and sink; `over` replaces root keys, `source` keys of its source. */
export function kafkaPipeline(
  pipeline_id: string,
  source: { topic: string; connection_params: object } & Record<string, unknown>,
  over: Record<string, unknown> = {},
): PipelineConfig {
  const { sources, sink } = webhookPipeline(pipeline_id);
  const schema_fields = (sources[0] as { schema_fields: unknown }).schema_fields;
  const kafka = { type: "kafka", source_id: "input", schema_fields, ...source };
  return normalise({ version: "v3", pipeline_id, sources: [kafka], sink, ...over } as never);
}
