import { canonicalDuration, parseDuration } from "./duration.ts";
import {
  basicType,
  type DedupKey,
  type JoinConfig,
  type KafkaSourceConfig,
  type PipelineConfig,
  type SchemaField,
  type SinkConfig,
  type SourceConfig,
  type TransformConfig,
} from "./pipeline.ts";
import { dedupFields } from "./dedup-key.ts";
import { normaliseResources } from "./normalise-resources.ts";
import { isObject, withoutZeroValues } from "./zero-values.ts";
import type {
  DedupDocument,
  FilterDocument,
  JoinDocument,
  KafkaSourceDocument,
  PipelineV3,
  SchemaFieldDocument,
  SinkDocument,
  StatelessDocument,
} from "./pipeline-v3.d.ts";

type SourceDocument = PipelineV3["sources"][number];
type TransformDocument = FilterDocument | DedupDocument | StatelessDocument;

/** The order of execution, whatever the order in the file; dedups of several sources stand in the order of sources. */
const order: readonly TransformConfig["type"][] = ["filter", "dedup", "stateless"];

/**
 * The canonical form of a document that was found valid. With `stored`, the config that the engine holds, an immutable
 * field that the document leaves out keeps its stored value instead of the default.
 * Normalising a canonical form changes nothing.
 */
export function normalise(document: PipelineV3, stored?: PipelineConfig): PipelineConfig {
  const file = tidy(document) as PipelineV3;
  const sources = file.sources.map(({ source_id }) => source_id);
  const rank = ({ type, source_id }: TransformConfig) =>
    order.indexOf(type) * sources.length + sources.indexOf(source_id);
  const transforms = (file.transforms ?? []).map(normaliseTransform).toSorted((a, b) => rank(a) - rank(b));
  const sink = normaliseSink(file.sink);
  return {
    version: "v3",
    pipeline_id: file.pipeline_id,
    name: file.name?.trim() ? file.name : titleOf(file.pipeline_id),
    sources: file.sources.map(normaliseSource),
    transforms,
    ...(file.join?.enabled === true && { join: normaliseJoin(file.join) }),
    sink,
    metadata: { tags: [...new Set(file.metadata?.tags)].toSorted() },
    resources: normaliseResources(file, sink.max_batch_size, stored),
  };
}

/** The document of a canonical form, whose canonical form is the same. A user without a password has an empty one there. */
export function documentOf(config: PipelineConfig, directives?: PipelineV3["x-sluice"]): PipelineV3 {
  const { connection_params } = config.sink;
  const isServer = connection_params.host !== "embedded";
  const document = {
    ...config,
    sink: {
      ...config.sink,
      connection_params: isServer
        ? { ...connection_params, password: connection_params.password ?? "" }
        : connection_params,
    },
    ...(directives !== undefined && { "x-sluice": directives }),
  };
  return tidy(document) as PipelineV3;
}

/** `orders-eu` is called `Orders Eu` unless the file says otherwise. */
function titleOf(pipeline_id: string): string {
  return pipeline_id
    .split("-")
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join(" ");
}

function normaliseSource(source: SourceDocument): SourceConfig {
  if (source.type === "kafka") return normaliseKafka(source);
  const { type, source_id } = source;
  return type === "webhook" ? { type, source_id, schema_fields: fieldsOf(source.schema_fields) } : { type, source_id };
}

function normaliseKafka(source: KafkaSourceDocument): KafkaSourceConfig {
  const registry = source.schema_registry;
  const { brokers, protocol } = source.connection_params;
  const given = Object.entries(source.connection_params).filter(([, value]) => value !== "");
  return {
    type: "kafka",
    source_id: source.source_id,
    topic: source.topic,
    consumer_group_initial_offset: source.consumer_group_initial_offset ?? "earliest",
    schema_fields: fieldsOf(source.schema_fields ?? source.schema?.fields ?? []),
    schema_version: source.schema_version ?? "1",
    format: source.format ?? "json",
    connection_params: {
      brokers,
      protocol,
      mechanism: "NO_AUTH",
      skip_tls_verification: false,
      ...Object.fromEntries(given),
    },
    ...(registry !== undefined && { schema_registry: { ...registry } }),
  };
}

function fieldsOf(fields: readonly SchemaFieldDocument[]): SchemaField[] {
  return fields.map(({ name, type, required }) => ({
    name,
    type: basicType(type),
    ...(required === false && { required }),
  }));
}

function normaliseTransform(transform: TransformDocument): TransformConfig {
  const { source_id } = transform;
  switch (transform.type) {
    case "filter":
      return { type: "filter", source_id, config: { expression: transform.config.expression } };
    case "dedup": {
      const { key, time_window } = transform.config;
      return {
        type: "dedup",
        source_id,
        config: { key: canonicalKey(key), time_window: canonicalDuration(time_window) },
      };
    }
    default:
      return {
        type: "stateless",
        source_id,
        config: { transforms: transform.config.transforms.map(normaliseOutput) },
      };
  }
}

/** One field is a text, whatever the spelling. */
function canonicalKey(key: DedupDocument["config"]["key"]): DedupKey {
  const [first = "", second, ...others] = dedupFields(key);
  return second === undefined ? first : [first, second, ...others];
}

type OutputDocument = StatelessDocument["config"]["transforms"][number];

/** A list of texts is a type of its own; other names of one basic type convert alike. */
function normaliseOutput({ expression, output_name, output_type }: OutputDocument): OutputDocument {
  return { expression, output_name, output_type: output_type === "[]string" ? output_type : basicType(output_type) };
}

function normaliseJoin({ left_source, right_source, output_fields = [] }: JoinDocument): JoinConfig {
  return {
    enabled: true,
    type: "temporal",
    left_source: normaliseSide(left_source),
    right_source: normaliseSide(right_source),
    output_fields: output_fields.map(({ source_id, name, output_name = name }) => ({ source_id, name, output_name })),
  };
}

function normaliseSide(side: JoinDocument["left_source"]): JoinConfig["left_source"] {
  if (side === undefined)
    throw new TypeError("expected an enabled join to have both sides, got one that was not validated");
  return { source_id: side.source_id, key: side.key, time_window: canonicalDuration(side.time_window) };
}

function normaliseSink(sink: SinkDocument): SinkConfig {
  const { host, port, http_port, database, username, password, ...flags } = sink.connection_params;
  const delay = sink.max_delay_time ?? "0";
  return {
    type: "clickhouse",
    connection_params: {
      host,
      ...(port && { port }),
      ...(http_port && { http_port }),
      database: database ?? "default",
      ...(username && { username }),
      ...(password && { password }),
      secure: flags.secure ?? false,
      skip_certificate_verification: flags.skip_certificate_verification ?? false,
    },
    table: sink.table,
    max_batch_size: sink.max_batch_size ?? 1000,
    max_delay_time: canonicalDuration(parseDuration(delay) === 0n ? "60s" : delay),
    mapping: (sink.mapping ?? []).map(({ name, column_name, column_type }) => ({
      name,
      column_name,
      column_type: canonicalColumnType(column_type),
    })),
  };
}

const quoted = /('(?:[^'\\]|\\.)*'?|`(?:[^`\\]|\\.)*`?|"(?:[^"\\]|\\.)*"?)/s;

/**
 * A column type with its blanks where ClickHouse puts them, so that `Map(String,String)` and `Map( String, String )`
 * are one text. Quoted text stays as it is; whether the type exists is not checked.
 */
export function canonicalColumnType(text: string): string {
  // Every second part is quoted.
  const parts = text.split(quoted).map((part, index) => (index % 2 === 1 ? part : spaced(part)));
  return parts.join("").trim();
}

function spaced(part: string): string {
  return part
    .replaceAll(/\s+/g, " ")
    .replaceAll(/ ?([(),]) ?/g, "$1")
    .replaceAll(",", ", ")
    .replaceAll(/ ?= ?/g, " = ");
}

/**
 * Spellings that the v3 format takes and the schema does not name: blanks around version, pipeline_id and source types,
 * upper case in source types and initial offsets, and the zero values of an export. Returns a copy with the changed
 * parts; a value of another shape stays as it is, and the schema refuses it.
 */
export function tidy(document: unknown): unknown {
  if (!isObject(document)) return document;
  const copy: Record<string, unknown> = { ...document };
  for (const key of ["version", "pipeline_id"]) {
    if (typeof copy[key] === "string") copy[key] = copy[key].trim();
  }
  if (Array.isArray(copy["sources"])) copy["sources"] = copy["sources"].map(tidySource);
  return withoutZeroValues(copy);
}

function tidySource(source: unknown): unknown {
  if (!isObject(source)) return source;
  const copy: Record<string, unknown> = { ...source };
  if (typeof copy["type"] === "string") copy["type"] = copy["type"].trim().toLowerCase();
  const offset = copy["consumer_group_initial_offset"];
  if (typeof offset !== "string") return copy;
  if (offset.trim() === "") delete copy["consumer_group_initial_offset"];
  else copy["consumer_group_initial_offset"] = offset.trim().toLowerCase();
  return copy;
}
