import { createHmac } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type {
  EngineOptions,
  JoinConfig,
  OtlpSourceConfig,
  PipelineConfig,
  SchemaField,
  SourceConfig,
} from "../../schemas/pipeline.ts";
import { otlpField } from "../../schemas/otlp-fields.ts";
import { quantityBytes } from "../../schemas/quantity.ts";
import type { Receiver } from "../core/dead-letter.ts";
import type { KeyMemory } from "../core/key-memory.ts";
import type { Sink } from "../core/sink.ts";
import { joinedOrigin } from "../join/joined-source.ts";
import { JoinSink, type JoinSinkOptions } from "../join/join-sink.ts";
import { joinedFields, outputsOf } from "../join/row-fields.ts";
import { SideReader } from "../join/sides-writer.ts";
import { Fingerprints } from "../keys/fingerprint.ts";
import type { Transform } from "../core/transform.ts";
import type { TransformChain, CompiledPipeline } from "../batch/compiled-pipeline.ts";
import { createSink, type SinkTools } from "../sinks/registry.ts";
import { DeclaredFields } from "../transforms/declared-fields/declared-fields.ts";
import { kindOf, obstacleOf } from "../sources/registry.ts";
import type { Log } from "../telemetry/log.ts";
import { RememberedKeys } from "../transforms/dedup/remembered-keys.ts";
import { createTransform } from "../transforms/registry.ts";
import { EngineError } from "../core/errors.ts";

export interface CompileOptions {
  pipeline_id: string;
  config: PipelineConfig;
  revision: number;
  options: Pick<EngineOptions, "create_table" | "alter_table" | "null" | "sources">;
  /** Configs of earlier revisions that pending batches name: the present config may read their origins by another source, or not at all. */
  former?: readonly PipelineConfig[];
  embedded?: SinkTools["embedded"];
  /** Opens the connections to a ClickHouse server; those of this machine by default. */
  agent?: SinkTools["agent"];
  /** Which servers may be connected to; without it, the defaults. */
  targets?: SinkTools["targets"];
  /** What dedup remembers, and what its fingerprints are made with: one for all revisions of a pipeline. */
  keys: KeyMemory;
  salt: Uint8Array;
  log: Log;
}

/**
 * Makes the components of a config, in their fixed order: declared fields, filter, dedup, stateless, sink. Throws what the
 * constructor of a component throws, and NOT_SUPPORTED for a config that this version cannot run.
 */
export function compilePipeline(given: CompileOptions): CompiledPipeline {
  const { config, revision } = given;
  checkSources(config);
  if (config.join !== undefined) return compileJoined(given);
  const origins = stepsByOrigin(given);
  const fields = Array.from(origins, ([origin, of]) => [origin, of && (of.stateless?.outputs ?? of.fields)] as const);
  const sink = tableOf(given, new Map(fields));
  const chains = new Map<Steps | undefined, TransformChain>([[undefined, withoutSteps(config)]]);
  for (const of of origins.values()) if (of !== undefined) chains.set(of, compileChain(of, sink));
  return { revision, chains: new Map(Array.from(origins, ([origin, of]) => [origin, chains.get(of)!])), sink };
}

/**
 * The way of the rows of a join to the table. Throws as `compilePipeline`. A file without a stateless transform beside its
 * join is all that there is, so the rows are what the table gets.
 */
function compileJoined(given: CompileOptions): CompiledPipeline {
  const { config, revision } = given;
  const fields = joinedFields(config.join!.output_fields, (id, name) => fieldOf(sourceOf(config, id), name));
  const sink = tableOf(given, new Map([[joinedOrigin, fields]]));
  const required = fields.filter(({ name }) => isRequired(config, name));
  const check = new DeclaredFields(required, { keys: [], rows: () => sink.rowWalks(joinedOrigin) });
  return {
    revision,
    chains: new Map([[joinedOrigin, { ...withoutSteps(config), transforms: [ofJoin(check)] }]]),
    sink,
  };
}

/** Whether every row of the join has a field: the events of its source always have it. */
function isRequired(config: PipelineConfig, output_name: string): boolean {
  const { source_id, name } = config.join!.output_fields.find((output) => output.output_name === output_name)!;
  const source = sourceOf(config, source_id);
  return kindOf(source)
    .declaredFieldsOf(source)
    .some((field) => field.name === name && field.required !== false);
}

/** A check of joined rows. One that was made before an edit of the fields, and waited, may lack a new field. */
function ofJoin(check: DeclaredFields): Transform {
  return {
    name: "ingestor",
    apply: (events) => {
      const result = check.apply(events);
      return { ...result, rejected: result.rejected.map((one) => ({ ...one, component: "join" })) };
    },
  };
}

/**
 * The way of the events of both sides into their join: declared fields, filter, dedup. Throws what the constructor of a
 * component throws.
 */
export function compileSides(given: CompileOptions, opened: Omit<JoinSinkOptions, "sides">): CompiledPipeline {
  const { config, revision, salt } = given;
  const join = config.join!;
  const { left_source, right_source } = join;
  const prints = new Fingerprints(joinSalt(salt, join));
  const readers = (
    [
      ["left", left_source],
      ["right", right_source],
    ] as const
  ).map(([side, { source_id, key }]) => {
    const { origin, declared } = stepsOf(given, sourceOf(config, source_id));
    const outputs = outputsOf(join, source_id);
    return { origin, reader: new SideReader({ side, key, outputs, declared }, prints) };
  });
  const sides = new Map<string | undefined, SideReader[]>();
  const chains = new Map<string | undefined, TransformChain>();
  for (const [origin, steps] of sharedByOrigin(given)) {
    const own = readers.filter((of) => of.origin === steps?.origin && steps !== undefined).map(({ reader }) => reader);
    sides.set(origin, own);
    const { receiver } = steps ?? withoutSteps(config);
    chains.set(origin, { receiver, transforms: steps === undefined ? [] : sideTransforms(steps, own) });
  }
  const of = (origin: string | undefined): readonly SideReader[] => sides.get(origin) ?? sides.get(undefined) ?? [];
  return { revision, chains, sink: new JoinSink({ ...opened, sides: of }) };
}

/**
 * As `stepsByOrigin`. Where both sides read one topic or signal, its events go through the steps of both sources: they have
 * the fields of both, and the same transforms. Throws NOT_SUPPORTED where the transforms differ.
 */
function sharedByOrigin(given: CompileOptions): Map<string | undefined, Steps | undefined> {
  const { pipeline_id, sources, transforms } = given.config;
  const byOrigin = stepsByOrigin(given);
  const [one, other] = sources.map((source) => stepsOf(given, source));
  if (one === undefined || other === undefined || one.origin !== other.origin) return byOrigin;
  const configsOf = (index: number): unknown[] =>
    transforms
      .filter(({ source_id }) => source_id === sources[index]!.source_id)
      .map(({ type, config }) => ({ type, config }));
  if (!isDeepStrictEqual(configsOf(0), configsOf(1))) {
    throw new EngineError(
      "NOT_SUPPORTED",
      `pipeline ${pipeline_id}: expected the same transforms for both sides of the join, as both read ${one.origin}`,
    );
  }
  const shared = {
    ...one,
    declared: [
      ...one.declared,
      ...other.declared.filter(({ name }) => one.declared.every((field) => field.name !== name)),
    ],
  };
  for (const [origin, steps] of byOrigin) if (steps !== undefined) byOrigin.set(origin, shared);
  return byOrigin;
}

/** What the events of a source go through on their way to the sides that they belong to. */
function sideTransforms({ declared, skipsTombstones, transforms }: Steps, sides: readonly SideReader[]): Transform[] {
  const keys = [...transforms, ...sides].flatMap(({ reads = [] }) => reads);
  return [new DeclaredFields(declared, { keys, rows: () => undefined }, { skipsTombstones }), ...transforms];
}

/**
 * What makes the fingerprints of the keys of a join: other ones than those of dedup. With other keys, events match none of
 * those before, also where a batch of the revision before is made again.
 */
function joinSalt(salt: Uint8Array, { left_source, right_source }: JoinConfig): Buffer {
  const keys = [left_source, right_source].map(({ source_id, key }) => [source_id, key]);
  return createHmac("sha256", salt)
    .update(JSON.stringify(["join", keys]))
    .digest()
    .subarray(0, 16);
}

/** A field of a source: one that it lists, or an attribute in a map of OTLP. */
function fieldOf(source: SourceConfig, name: string): SchemaField | undefined {
  const listed = kindOf(source)
    .fieldsOf(source)
    .find((field) => field.name === name);
  if (listed !== undefined || !isOtlp(source)) return listed;
  return otlpField(source.type, name);
}

function isOtlp(source: SourceConfig): source is OtlpSourceConfig {
  return source.type.startsWith("otlp.");
}

function sourceOf({ pipeline_id, sources }: PipelineConfig, source_id: string): SourceConfig {
  const source = sources.find((one) => one.source_id === source_id);
  if (source === undefined)
    throw new EngineError("NOT_SUPPORTED", `pipeline ${pipeline_id}: expected the source ${source_id} of its join`);
  return source;
}

/** The sink of a pipeline, for the fields of the events that it gets, by their origin. */
function tableOf(
  { config, options, embedded, agent, targets, log }: CompileOptions,
  schemas: SinkTools["schemas"],
): Sink {
  return createSink(config.sink, {
    pipeline_id: config.pipeline_id,
    schemas,
    options,
    ...(embedded !== undefined && { embedded }),
    ...(agent !== undefined && { agent }),
    ...(targets !== undefined && { targets }),
    log,
  });
}

/**
 * The steps of events by their origin, and by `undefined` for any other origin. Events of topics that are no longer read
 * have no steps: the sink refuses them.
 */
function stepsByOrigin(given: CompileOptions): Map<string | undefined, Steps | undefined> {
  const { config, former = [] } = given;
  const steps = new Map(config.sources.map((source) => [source.source_id, stepsOf(given, source)]));
  const byOrigin = new Map<string | undefined, Steps | undefined>();
  for (const source of former.flatMap(({ sources }) => sources)) {
    const { origin } = kindOf(source);
    if (origin?.mayChange === true) byOrigin.set(origin.of(source), steps.get(source.source_id));
  }
  for (const of of steps.values()) byOrigin.set(of.origin, of);
  const [first, ...others] = steps.values();
  return byOrigin.set(undefined, others.some(({ mayChange }) => mayChange) ? undefined : first);
}

/** The way of events that no source of the pipeline has: they are of the kind of the first one. */
function withoutSteps({ sources }: PipelineConfig): TransformChain {
  return { receiver: kindOf(sources[0]!).receiver, transforms: [] };
}

/** The steps of the events of one source. */
interface Steps {
  receiver: Receiver;
  /** Where the events come from, such as a topic; undefined: from a source that has one origin. */
  origin: string | undefined;
  /** Whether it may have had another origin before. */
  mayChange: boolean;
  fields: readonly SchemaField[];
  /** Fields that every event is checked for. */
  declared: readonly SchemaField[];
  skipsTombstones: boolean;
  transforms: Transform[];
  /** The transform that makes new events of them. */
  stateless: Transform | undefined;
}

function stepsOf(given: CompileOptions, source: SourceConfig): Steps {
  const kind = kindOf(source);
  const fields = kind.fieldsOf(source);
  const entries = given.config.transforms.filter(({ source_id }) => source_id === source.source_id);
  const transforms = entries.map((entry) => createTransform(entry, { ...given, fields }));
  return {
    receiver: kind.receiver,
    origin: kind.origin?.of(source),
    mayChange: kind.origin?.mayChange ?? false,
    fields,
    declared: kind.declaredFieldsOf(source),
    skipsTombstones: given.options.sources?.[source.source_id]?.on_tombstone !== "dead_letter",
    transforms: transforms.filter(({ outputs }) => outputs === undefined),
    stateless: transforms.find(({ outputs }) => outputs !== undefined),
  };
}

function compileChain(
  { receiver, origin, declared, skipsTombstones, transforms, stateless }: Steps,
  sink: Sink,
): TransformChain {
  // A stateless transform makes new events: none is a row as it was received.
  const rows = stateless === undefined ? () => sink.rowWalks(origin) : () => undefined;
  const keys = [...transforms, ...(stateless === undefined ? [] : [stateless])].flatMap(({ reads = [] }) => reads);
  return {
    receiver,
    transforms: [new DeclaredFields(declared, { keys, rows }, { skipsTombstones }), ...transforms],
    ...(stateless === undefined ? {} : { stateless }),
  };
}

/** Throws NOT_SUPPORTED for sources that this version cannot run. Files are checked long before; this is the engine's own guard. */
function checkSources({ pipeline_id, ...config }: PipelineConfig): void {
  const found = obstacleOf(config);
  if (found !== undefined) throw new EngineError("NOT_SUPPORTED", `pipeline ${pipeline_id}: expected ${found}`);
}

/** The key memory of a pipeline's dedup transforms; its limits are the sums of theirs. */
export function createKeys({ transforms, resources }: PipelineConfig): KeyMemory {
  const keyed = transforms.filter(({ type }) => type === "dedup");
  const limits = keyed.map((dedup) => resources.transform.find(({ source_id }) => source_id === dedup.source_id));
  return new RememberedKeys({
    storage: bytesOf(limits.map((of) => of?.storage?.size)),
    memory: bytesOf(limits.map((of) => of?.limits.memory)),
  });
}

/** The sum of limits; Infinity where one is missing. */
function bytesOf(quantities: readonly (string | undefined)[]): number {
  if (quantities.length === 0) return Infinity;
  return quantities.reduce((sum, quantity) => sum + (quantity === undefined ? Infinity : quantityBytes(quantity)), 0);
}
