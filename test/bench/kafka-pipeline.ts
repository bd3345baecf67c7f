import type { TestClickHouse } from "../support/clickhouse.ts";
import type { TestKafka } from "../support/kafka/test-kafka.ts";
import type { Case } from "./kafka-cases.ts";
import type { Field, Output, Shape } from "./kafka-shape.ts";

/** Name of the environment variable that holds the password of the target. */
export const passwordVariable = "SLUICE_SECRET_BENCH";

const source_id = "input";

/** What a run is made of. */
export interface Plan {
  of: Case;
  shape: Shape;
  /** `max_batch_size`. */
  batch: number;
}

/** A pipeline file: JSON is YAML. */
export function pipelineFile(
  pipeline_id: string,
  { of: { steps }, shape, batch }: Plan,
  { kafka, topic, server, table }: { kafka: TestKafka; topic: string; server: TestClickHouse; table: string },
): string {
  return JSON.stringify({
    version: "v3",
    pipeline_id,
    sources: [
      {
        ...earliestOf(kafka, topic),
        schema_fields: shape.fields.map(({ name, type }) => ({ name, type })),
      },
    ],
    transforms: steps.map((type) => ({ type, source_id, config: configOf(shape)[type] })),
    sink: {
      type: "clickhouse",
      connection_params: targetOf(server),
      table,
      max_batch_size: batch,
      max_delay_time: "5s",
      mapping: columnsOf({ steps }, shape).map(({ name, column_type }) => ({ name, column_name: name, column_type })),
    },
  });
}

/** A source that reads a topic from its beginning, without its fields. */
export function earliestOf(kafka: TestKafka, topic: string): Record<string, unknown> {
  const connection_params = kafka.connectionParams();
  return { type: "kafka", source_id, topic, connection_params, consumer_group_initial_offset: "earliest" };
}

/** How the sink reaches a server; its password is in `passwordVariable`. */
export function targetOf({ url, username }: TestClickHouse): Record<string, string> {
  const { hostname: host, port: http_port } = new URL(url);
  const password = `\${env:${passwordVariable}}`;
  return { host, port: "9000", http_port, database: "default", username, password };
}

/** What goes to the target: the fields, or what a stateless transform makes of them. */
export function columnsOf({ steps }: Pick<Case, "steps">, { fields, outputs }: Shape): readonly (Field | Output)[] {
  return steps.includes("stateless") ? outputs : fields;
}

function configOf({ filter, outputs }: Shape): Record<Case["steps"][number], object> {
  const transforms = outputs.map(({ name, expression, type }) => ({
    expression,
    output_name: name,
    output_type: type,
  }));
  return { filter: { expression: filter }, dedup: { key: "id", time_window: "1h" }, stateless: { transforms } };
}
