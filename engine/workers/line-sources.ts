import { isDeepStrictEqual } from "node:util";
import { otlpFields } from "../../schemas/otlp-fields.ts";
import type { OtlpSourceConfig, PipelineConfig, SchemaField, SourceConfig } from "../../schemas/pipeline.ts";
import { EngineError } from "../core/errors.ts";

/**
 * Throws NOT_SUPPORTED for sources that this version has no line for. Files say the same long before; this is the
 * engine's own guard.
 */
export function checkSources({ pipeline_id, sources, join }: PipelineConfig): void {
  const found = obstacleOf(sources) ?? (join === undefined ? undefined : "no join, which this version has no part for");
  if (found !== undefined) throw new EngineError("NOT_SUPPORTED", `pipeline ${pipeline_id}: expected ${found}`);
}

/** What is expected of sources and is not so. */
function obstacleOf(sources: readonly SourceConfig[]): string | undefined {
  const [first] = sources;
  if (first === undefined) return "a source";
  if (sources.some((source) => kindOf(source) !== kindOf(first))) return "sources of one kind";
  const origins = new Set(sources.map(originOf));
  if (origins.size < sources.length) return `another ${tellingApart[kindOf(first)]} for each source`;
  const [connection, ...connections] = sources.map(connectionOf);
  if (connections.some((other) => !isDeepStrictEqual(other, connection)))
    return "one connection to Kafka for all sources";
  if (connection?.["mechanism"] !== "GSSAPI") return undefined;
  return "another mechanism than GSSAPI, for which this version has no client";
}

type Kind = "webhook" | "kafka" | "otlp";

const tellingApart: Readonly<Record<Kind, string>> = { webhook: "pipeline", kafka: "topic", otlp: "signal" };

function kindOf({ type }: SourceConfig): Kind {
  return type.split(".")[0] as Kind;
}

/** Without what says the same as leaving it out. */
function connectionOf(source: SourceConfig): Record<string, unknown> {
  const members = source.type === "kafka" ? Object.entries(source.connection_params) : [];
  return Object.fromEntries(members.filter(([, value]) => value !== "" && value !== false && value !== undefined));
}

/** What events of a source are told apart by. */
export function originOf(source: SourceConfig): string | undefined {
  if (source.type === "kafka") return source.topic;
  return isOtlp(source) ? source.type.slice("otlp.".length) : undefined;
}

/** The fields of a source's events: declared, or fixed by the OTLP signal. */
export function fieldsOf(source: SourceConfig): readonly SchemaField[] {
  return isOtlp(source) ? otlpFields[source.type] : source.schema_fields;
}

export function isOtlp(source: SourceConfig): source is OtlpSourceConfig {
  return source.type.startsWith("otlp.");
}
