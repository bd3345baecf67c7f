import { normalise, type PipelineV3 } from "../../../schemas/index.ts";
import {
  defaultOptions,
  type EngineOptions,
  type Mapping,
  type PipelineConfig,
  type SchemaField,
} from "../../../schemas/pipeline.ts";
import { BatchBuilder } from "../../../engine/batch/builder.ts";
import { type Care, CarefulReading } from "../../../engine/batch/careful-reading.ts";
import type { Chunk } from "../../../engine/core/positions.ts";
import type { CompiledPipeline } from "../../../engine/batch/compiled-pipeline.ts";
import { refusedBySink, type Rejection } from "../../../engine/core/dead-letter.ts";
import type { Failure } from "../../../engine/core/sink.ts";
import { Event } from "../../../engine/event/event.ts";
import { joinedOrigin } from "../../../engine/join/joined-source.ts";
import { encodersFor } from "../../../engine/sinks/clickhouse/encode/row-encoders.ts";
import { JsonRowWriter } from "../../../engine/sinks/clickhouse/encode/json-row-writer.ts";
import { kindOf } from "../../../engine/sources/registry.ts";
import { deathText } from "../../../engine/workers/pool.ts";
import { ThreadDeaths } from "../../../engine/workers/thread-deaths.ts";
import { compilePipeline, compileSides, createKeys } from "../../../engine/workers/compile.ts";
import { columnOfField } from "../column-of-field.ts";

/** A file and an event of which it makes a dead letter. */
export interface LetterCase {
  /** Declared fields, such as `n: int`; `n: int?` is one with `required: false`. None: those of the section. */
  fields?: readonly string[];
  filter?: string;
  /** The key of a dedup. */
  dedup?: string | [string, string];
  /** An output of a stateless transform. */
  output?: { expression: string; type: string };
  /** The type of the column that the first field, or the output, goes to. By default it takes what comes. */
  column?: string;
  /** The mapping, where it has more than that. */
  mapping?: readonly [name: string, column_type: string][];
  null?: EngineOptions["null"];
  /** The columns of the table, where they differ from the mapping. */
  table?: readonly { name: string; type: string }[];
  source?: "webhook" | "kafka" | "otlp.metrics";
  /** The event is of a topic that the file does not name any more; "": of a webhook that it was before. */
  topic?: string;
  /** The file has a join on this key, and the event is one of its left side, or a row that was made before an edit. */
  join?: { key: string; selects?: string; row?: true };
  /** JSON, or what else arrives; undefined: a tombstone. */
  event: string | Buffer | undefined;
}

const pipeline_id = "orders";
const plan = { clock: 0, batch: 1, oldest: 0 };
const salt = Buffer.alloc(16);
const nothing = (): void => undefined;
const telemetry = { transformed: nothing, tombstonesSkipped: nothing } as never;
const log = { info: nothing, warn: nothing, error: nothing, debug: nothing } as never;

/** The dead letter that a pipeline makes of an event, by the way that the events of its sources take. */
export function letterOf(given: LetterCase): Rejection {
  const rejected = given.table === undefined ? builtOf(given) : writtenOf(given, given.table);
  if (rejected.length !== 1) throw new Error(`expected a dead letter, found ${rejected.length}: ${describe(given)}`);
  return rejected[0]!;
}

function builtOf(given: LetterCase): readonly Rejection[] {
  const builder = new BatchBuilder(compiled(given), plan, pipeline_id, telemetry);
  builder.add([eventOf(given)]);
  return builder.encode().rejected;
}

/** The dead letter of a row that ClickHouse refuses alone. */
export function refusedLetter(given: LetterCase, { name, text }: Failure): Rejection {
  const event = eventOf(given);
  const builder = new BatchBuilder(compiled(given), plan, pipeline_id, telemetry);
  builder.add([event]);
  return builder.letter(event, { reason: `${refusedBySink}${name}`, error: text });
}

/** The dead letter of an event during which three threads died. */
export function deadlyLetter(given: LetterCase, death: string): Rejection {
  const deaths = new ThreadDeaths();
  const by = { feed: "", position: 1 };
  for (let count = 0; count < 3; count += 1) deaths.died({ error: new Error(deathText(death)), by, isByOther: false });
  return readLetter(given, { feed: "", events: [eventOf(given)], last: 1 }, deaths.care);
}

/** The dead letter of an event that is followed by so many spaces that it is too large. */
export function oversizedLetter(given: LetterCase, spaces: number): Rejection {
  const event = eventOf({ ...given, event: `${String(given.event)}${" ".repeat(spaces)}` });
  return readLetter(given, { feed: "", events: [event], last: 1, oversized: new Set([1]) });
}

/** The dead letter of an event that reading refuses. */
function readLetter(given: LetterCase, chunk: Chunk, care?: Care): Rejection {
  const builder = new BatchBuilder(compiled(given), plan, pipeline_id, telemetry);
  new CarefulReading(care, () => undefined).take(builder, chunk);
  const [letter] = builder.encode().rejected;
  if (letter === undefined) throw new Error("expected an event that reading refuses");
  return letter;
}

/** By a table as a server describes it. */
function writtenOf(given: LetterCase, table: NonNullable<LetterCase["table"]>): readonly Rejection[] {
  const { sink, sources } = configOf(given);
  const schemas = new Map(sources.map((source) => [undefined, kindOf(source).fieldsOf(source)]));
  const columns = table.map((column) => ({ ...column, default_kind: "" }));
  const encoders = encodersFor({ sink, schemas, options: {} }, columns);
  if (typeof encoders === "string") throw new Error(encoders);
  return new JsonRowWriter(() => encoders, 0).add([eventOf(given)]);
}

function configOf(given: LetterCase): PipelineConfig {
  return normalise(fileOf(given) as unknown as PipelineV3);
}

function describe(given: LetterCase): string {
  return JSON.stringify({ ...given, event: String(given.event).slice(0, 200) });
}

function eventOf({ event, topic, join, source }: LetterCase): Event {
  const origin = join?.row === true ? joinedOrigin : topic === "" ? undefined : (topic ?? originOf(source, join));
  if (event === undefined) return new Event(1, 1, Buffer.alloc(0), 0, -1, origin);
  const bytes = Buffer.from(event);
  return new Event(1, 1, bytes, 0, bytes.length, origin);
}

function originOf(source: LetterCase["source"], join: LetterCase["join"]): string | undefined {
  if (source === "otlp.metrics") return "metrics";
  return source === "kafka" || join !== undefined ? "orders" : undefined;
}

function compiled(given: LetterCase): CompiledPipeline {
  const config = configOf(given);
  const options = {
    ...defaultOptions,
    ...(given.null !== undefined && { null: given.null }),
    sources: { orders: { on_tombstone: "dead_letter" as const } },
  };
  const how = { pipeline_id, config, revision: 1, options, keys: createKeys(config), salt, log };
  if (given.join === undefined || given.join.row === true) return compilePipeline(how);
  return compileSides(how, { open: () => Promise.reject(new Error("not opened")), onStep: nothing });
}

const connection_params = { brokers: ["kafka:9092"], protocol: "PLAINTEXT" };

/** The file of a case, as a repository has it. */
export function fileOf(given: LetterCase): Record<string, unknown> {
  const { filter, dedup, output, join, topic } = given;
  const source_id = "orders";
  const stateless = output && {
    transforms: [{ expression: output.expression, output_name: "out", output_type: output.type }],
  };
  return {
    version: "v3",
    pipeline_id,
    sources: [sourceOf(given, source_id), ...(join === undefined && topic === undefined ? [] : [other])],
    transforms: [
      ...(filter === undefined ? [] : [{ type: "filter", source_id, config: { expression: filter } }]),
      ...(dedup === undefined ? [] : [{ type: "dedup", source_id, config: { key: dedup, time_window: "1h" } }]),
      ...(stateless === undefined ? [] : [{ type: "stateless", source_id, config: stateless }]),
    ],
    ...(join !== undefined && { join: joinOf(join) }),
    sink: {
      type: "clickhouse",
      connection_params: { host: "embedded", database: "default" },
      table: "orders",
      mapping: mappingOf(given),
    },
  };
}

const other = {
  type: "kafka",
  source_id: "payments",
  topic: "payments",
  connection_params,
  schema_fields: [{ name: "id", type: "string" }],
};

function joinOf({ key, selects = key }: NonNullable<LetterCase["join"]>): Record<string, unknown> {
  return {
    enabled: true,
    type: "temporal",
    left_source: { source_id: "orders", key, time_window: "1h" },
    right_source: { source_id: "payments", key: "id", time_window: "1h" },
    output_fields: [{ source_id: "orders", name: selects, output_name: "out" }],
  };
}

function sourceOf(given: LetterCase, source_id: string): Record<string, unknown> {
  if (given.source === "otlp.metrics") return { type: given.source, source_id };
  const schema_fields = fieldsOf(given);
  return given.source === "kafka" || given.join !== undefined
    ? { type: "kafka", source_id, topic: "orders", connection_params, schema_fields }
    : { type: "webhook", source_id, schema_fields };
}

function fieldsOf({ fields = [] }: LetterCase): SchemaField[] {
  return fields.map((text) => {
    const [, name = "", type = "", optional] = /^(.*): (\w+)(\?)?$/.exec(text) ?? [];
    return { name, type: type as SchemaField["type"], ...(optional === "?" && { required: false }) };
  });
}

const ofOutput = new Map([
  ["string", "String"],
  ["bool", "Bool"],
]);

function mappingOf(given: LetterCase): Mapping[] {
  const { output, join, mapping, column } = given;
  const [first] = fieldsOf(given);
  const usual = first === undefined ? "String" : columnOfField[first.type];
  const name = output !== undefined || join !== undefined ? "out" : (first?.name ?? "");
  const wanted = output === undefined ? usual : (ofOutput.get(output.type) ?? "String");
  return (mapping ?? [[name, column ?? wanted] as const]).map(([of, column_type]) => ({
    name: of,
    column_name: of.replaceAll(".", "_"),
    column_type,
  }));
}
