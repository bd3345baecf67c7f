import { migrate, MigrationError } from "../../reconciler/migrate/migrate.ts";

/** A v2 document as the tests change it. */
export type V2 = Record<string, unknown>;

/** A v2 pipeline that converts to a valid v3 document without a word; `over` replaces keys of the root. */
export function v2Pipeline(over: V2 = {}): V2 {
  return {
    version: "v2",
    pipeline_id: "orders-eu",
    source: v2Source([{ name: "orders" }]),
    sink: v2Sink(),
    schema: { fields: [v2Field("orders", "id", "string"), v2Field("orders", "amount", "float", "Float64")] },
    ...over,
  };
}

export function v2Source(topics: unknown[], over: V2 = {}): V2 {
  const connection_params = { brokers: ["kafka:9092"], protocol: "PLAINTEXT" };
  return { type: "kafka", connection_params, topics, ...over };
}

export function v2Sink(over: V2 = {}): V2 {
  const connection_params = {
    host: "clickhouse",
    port: "9000",
    http_port: "8123",
    database: "shop",
    username: "loader",
    password: "${env:P}",
  };
  return { type: "clickhouse", connection_params, table: "orders", max_batch_size: 100, max_delay_time: "1s", ...over };
}

/** A field that goes to a column of its own name; without a type of column it goes to none. */
export function v2Field(source_id: string, name: string, type: string, column_type?: string, column_name = name): V2 {
  return { source_id, name, type, ...(column_type !== undefined && { column_name, column_type }) };
}

/** A join of the topics `orders` and `users`. */
export function v2Join(over: V2 = {}): V2 {
  return {
    enabled: true,
    type: "temporal",
    sources: [
      { source_id: "orders", join_key: "user", time_window: "1h", orientation: "left" },
      { source_id: "users", join_key: "id", time_window: "2h", orientation: "right" },
    ],
    ...over,
  };
}

/** Why a document is not converted. Throws if it is. */
export function refusalOf(document: unknown): MigrationError {
  try {
    migrate(document);
  } catch (error) {
    if (error instanceof MigrationError) return error;
    throw error;
  }
  throw new Error("expected a document that cannot be converted");
}

/** A v2 document that this version of Sluice runs once it is converted, as a person writes it; `more` are lines of the root. */
export function v2Text(pipeline_id: string, more: readonly string[] = [], topic = "{ name: input }"): string {
  return [
    "version: v2",
    `pipeline_id: ${pipeline_id}`,
    "source:",
    "  type: webhook",
    `  topics: [${topic}]`,
    "sink:",
    "  type: clickhouse",
    "  host: embedded",
    "  database: default",
    `  table: ${pipeline_id.replaceAll("-", "_")}`,
    "  max_delay_time: 50ms",
    "schema:",
    "  fields:",
    "    - { source_id: input, name: id, type: int, column_name: id, column_type: Int64 }",
    "    - { source_id: input, name: level, type: string, column_name: level, column_type: String }",
    ...more,
    "",
  ].join("\n");
}

/** Lines of a filter that drops debug events in v2. */
export const v2Filter: readonly string[] = ["filter:", "  enabled: true", "  expression: level == 'debug'"];
