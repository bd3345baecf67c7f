import type { EngineOptions, PipelineConfig, SchemaField, SourceConfig } from "../../schemas/pipeline.ts";
import { quantityBytes } from "../../schemas/quantity.ts";
import type { KeyMemory } from "../core/key-memory.ts";
import type { Sink } from "../core/sink.ts";
import type { Transform } from "../core/transform.ts";
import type { TransformChain, CompiledPipeline } from "../batch/compiled-pipeline.ts";
import { createSink, type SinkTools } from "../sinks/registry.ts";
import { DeclaredFields } from "../transforms/declared-fields/declared-fields.ts";
import { kindOf, obstacleOf } from "../sources/registry.ts";
import type { Log } from "../telemetry/log.ts";
import { RememberedKeys } from "../transforms/dedup/remembered-keys.ts";
import { createTransform } from "../transforms/registry.ts";
import { EngineError } from "../core/errors.ts";

interface CompileOptions {
  pipeline_id: string;
  config: PipelineConfig;
  revision: number;
  options: Pick<EngineOptions, "create_table" | "alter_table">;
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
  const { config, revision, options, embedded, agent, targets, log } = given;
  checkSources(config);
  const origins = stepsByOrigin(given);
  const sink = createSink(config.sink, {
    pipeline_id: config.pipeline_id,
    schemas: new Map(Array.from(origins, ([origin, of]) => [origin, of && (of.stateless?.outputs ?? of.fields)])),
    options,
    ...(embedded !== undefined && { embedded }),
    ...(agent !== undefined && { agent }),
    ...(targets !== undefined && { targets }),
    log,
  });
  const chains = new Map<Steps | undefined, TransformChain>([[undefined, { transforms: [] }]]);
  for (const of of origins.values()) if (of !== undefined) chains.set(of, compileChain(of, sink));
  return { revision, chains: new Map(Array.from(origins, ([origin, of]) => [origin, chains.get(of)!])), sink };
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

/** The steps of the events of one source. */
interface Steps {
  /** Where the events come from, such as a topic; undefined: from a source that has one origin. */
  origin: string | undefined;
  /** Whether it may have had another origin before. */
  mayChange: boolean;
  fields: readonly SchemaField[];
  /** Fields that every event has to have. */
  declared: readonly SchemaField[];
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
    origin: kind.origin?.of(source),
    mayChange: kind.origin?.mayChange ?? false,
    fields,
    declared: kind.requiredFieldsOf(source),
    transforms: transforms.filter(({ outputs }) => outputs === undefined),
    stateless: transforms.find(({ outputs }) => outputs !== undefined),
  };
}

function compileChain({ origin, declared, transforms, stateless }: Steps, sink: Sink): TransformChain {
  // A stateless transform makes new events: none is a row as it was received.
  const rows = stateless === undefined ? () => sink.rowWalks(origin) : () => undefined;
  const keys = [...transforms, ...(stateless === undefined ? [] : [stateless])].flatMap(({ reads = [] }) => reads);
  return {
    transforms: [new DeclaredFields(declared, { keys, rows }), ...transforms],
    ...(stateless === undefined ? {} : { stateless }),
  };
}

/** Throws NOT_SUPPORTED for sources that this version cannot run. Files are checked long before; this is the engine's own guard. */
function checkSources({ pipeline_id, sources, join }: PipelineConfig): void {
  const found =
    obstacleOf(sources) ?? (join === undefined ? undefined : "no join, which this version does not support");
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
