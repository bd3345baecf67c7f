import { createHmac } from "node:crypto";
import { durationMs } from "../schemas/duration.ts";
import { otlpFields } from "../schemas/otlp-fields.ts";
import type {
  OtlpSourceConfig,
  PipelineConfig,
  SchemaField,
  SourceConfig,
  TransformConfig,
} from "../schemas/pipeline.ts";
import { quantityBytes } from "../schemas/quantity.ts";
import { EngineError } from "./core/errors.ts";
import type { KeyMemory } from "./core/key-memory.ts";
import type { Transform } from "./core/transform.ts";
import type { Course, Line } from "./line.ts";
import { ClickHouseSink, type ClickHouseSinkOptions } from "./sinks/clickhouse/sink.ts";
import { DeclaredFields } from "./sources/declared-fields.ts";
import type { Log } from "./telemetry/log.ts";
import { DedupTransform } from "./transforms/dedup/dedup.ts";
import { Fingerprints } from "./transforms/dedup/fingerprint.ts";
import { RememberedKeys } from "./transforms/dedup/remembered-keys.ts";
import { FilterTransform } from "./transforms/filter/filter.ts";
import { StatelessTransform } from "./transforms/stateless/stateless.ts";

interface LineOptions {
  pipeline_id: string;
  config: PipelineConfig;
  revision: number;
  options: { create_table: boolean };
  embedded?: ClickHouseSinkOptions["embedded"];
  /** What dedup remembers, and what its fingerprints are made with: one for all lines of a pipeline. */
  keys: KeyMemory;
  salt: Uint8Array;
  log: Log;
}

/**
 * The steps of a config in their fixed order: declared fields, filter, dedup, stateless, sink. Throws what a part throws that
 * does not fit the config, and NOT_SUPPORTED for what this version has no part for.
 */
export function createLine(parts: LineOptions): Line {
  const { config, revision, options, embedded, log } = parts;
  checkSources(config);
  const steps = config.sources.map((source) => stepsOf(parts, source));
  const sink = new ClickHouseSink({
    pipeline_id: config.pipeline_id,
    sink: config.sink,
    schemas: new Map(steps.map(({ origin, fields, stateless }) => [origin, stateless?.outputs ?? fields])),
    options,
    ...(embedded === undefined ? {} : { embedded }),
    log,
  });
  return { revision, courses: new Map(steps.map((of) => [of.origin, createCourse(of, sink)])), sink };
}

/** What becomes of the events of one source. */
interface Steps {
  /** What their events are told apart by. */
  origin: string | undefined;
  fields: readonly SchemaField[];
  /** Fields that every event has to have. */
  declared: readonly SchemaField[];
  transforms: Transform[];
  stateless: StatelessTransform | undefined;
}

function stepsOf(parts: LineOptions, source: SourceConfig): Steps {
  const fields = fieldsOf(source);
  const entries = parts.config.transforms.filter(({ source_id }) => source_id === source.source_id);
  return {
    origin: isOtlp(source) ? source.type.slice("otlp.".length) : undefined,
    fields,
    // Rows of OTLP are made here and may leave fields out or have them null.
    declared: isOtlp(source) ? [] : fields,
    transforms: entries.flatMap((entry) => createTransform(parts, entry, fields) ?? []),
    stateless: createStateless(entries, fields),
  };
}

function createCourse({ origin, declared, transforms, stateless }: Steps, sink: ClickHouseSink): Course {
  // Where stateless makes others of them, no event is a row as it was received.
  const rows = stateless === undefined ? () => sink.rowWalks(origin) : () => undefined;
  const keys = [...transforms, ...(stateless === undefined ? [] : [stateless])].flatMap(({ reads = [] }) => reads);
  return {
    transforms: [new DeclaredFields(declared, { keys, rows }), ...transforms],
    ...(stateless === undefined ? {} : { stateless }),
  };
}

function checkSources(config: PipelineConfig): void {
  const [source, ...others] = config.sources;
  if (source === undefined) throw notSupported(config, "expected a source");
  if (others.length > 0 && !isOtlp(source)) throw notSupported(config, `expected one source of type ${source.type}`);
  if (source.type === "kafka" && source.connection_params.mechanism === "GSSAPI") {
    throw notSupported(config, "expected another mechanism than GSSAPI, for which this version has no client");
  }
  if (config.transforms.filter(({ type }) => type === "dedup").length > 1) {
    throw notSupported(config, "expected one dedup in a pipeline");
  }
}

/** The fields of a source's events: declared, or fixed by the OTLP signal. */
function fieldsOf(source: SourceConfig): readonly SchemaField[] {
  return isOtlp(source) ? otlpFields[source.type] : source.schema_fields;
}

function isOtlp(source: SourceConfig): source is OtlpSourceConfig {
  return source.type.startsWith("otlp.");
}

/** What is remembered by a pipeline's dedup, within its limits; nothing where it has none. */
export function createKeys({ transforms, resources }: PipelineConfig): KeyMemory {
  const dedup = transforms.find(({ type }) => type === "dedup");
  if (dedup?.type !== "dedup") return new RememberedKeys({ window: 0, storage: Infinity, memory: Infinity });
  const limits = resources.transform.find(({ source_id }) => source_id === dedup.source_id);
  return new RememberedKeys({
    window: durationMs(dedup.config.time_window),
    storage: bytesOr(limits?.storage?.size, Infinity),
    memory: bytesOr(limits?.limits.memory, Infinity),
  });
}

function bytesOr(quantity: string | undefined, none: number): number {
  return quantity === undefined ? none : quantityBytes(quantity);
}

function createTransform(
  { keys, salt }: LineOptions,
  entry: PipelineConfig["transforms"][number],
  fields: readonly SchemaField[],
): Transform | undefined {
  if (entry.type === "stateless") return undefined;
  if (entry.type === "filter") return new FilterTransform(entry.config.expression, fields);
  return new DedupTransform(entry.config.key, keys, new Fingerprints(saltFor(entry, salt)));
}

function createStateless(
  transforms: PipelineConfig["transforms"],
  fields: readonly SchemaField[],
): StatelessTransform | undefined {
  const entry = transforms.find(({ type }) => type === "stateless");
  return entry?.type === "stateless" ? new StatelessTransform(entry.config.transforms, fields) : undefined;
}

/** Another key, or the key of another source, is another window: what was remembered for it does not count. */
function saltFor({ source_id, config }: Extract<TransformConfig, { type: "dedup" }>, salt: Uint8Array): Buffer {
  return createHmac("sha256", salt)
    .update(JSON.stringify([source_id, config.key]))
    .digest()
    .subarray(0, 16);
}

function notSupported({ pipeline_id }: PipelineConfig, text: string): EngineError {
  return new EngineError("NOT_SUPPORTED", `pipeline ${pipeline_id}: ${text}`);
}
