import type { SourceFile } from "../../reconciler/desired/source-text.ts";

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

/** The good pipeline with one passage replaced by another. Throws if the passage is not there. */
export function changed(passage: string, by: string): string {
  if (!goodPipeline.includes(passage)) throw new Error(`expected the good pipeline to hold "${passage}"`);
  return goodPipeline.replace(passage, () => by);
}

export function fileOf(content: string | Uint8Array, path = "orders.yaml"): SourceFile {
  return { path, bytes: typeof content === "string" ? new TextEncoder().encode(content) : content };
}
