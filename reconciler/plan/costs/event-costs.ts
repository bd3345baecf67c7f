import { isDeepStrictEqual } from "node:util";
import type {
  EngineOptions,
  PipelineConfig,
  SchemaField,
  SinkConfig,
  SourceConfig,
  TransformConfig,
} from "../../../schemas/index.ts";
import type { ActualPipeline } from "../../actual/state.ts";
import type { DesiredPipeline } from "../../desired/desired-state.ts";
import type { Action } from "../change.ts";
import type { Cost } from "../cost.ts";
import { movesOf, namesOf, topicsOf } from "../decide/kafka.ts";
import { targetOf } from "./tables.ts";

/** What the new config and the new options mean for events, what is lost first. */
export function eventCosts(
  { fields }: Action,
  present: ActualPipeline,
  { config: to, options }: DesiredPipeline,
): Cost[] {
  const { config: from, keys, join, lag } = present;
  if (fields.length === 0) return [];
  return [
    ...unreadCosts(from, to, lag),
    ...optionCosts(present.options, options, dedupsOf(to).size > 0),
    ...dedupCosts(from, to, keys),
    ...joinCosts(from, to, join?.events),
    ...sourceCosts(from, to),
    ...expressionCosts(from, to),
    ...fieldCosts(from, to),
    ...targetCosts(from, to),
  ];
}

/** The figures that are known and are not zero. */
export function nonZero<Figures extends Record<string, number | "unknown" | undefined>>(
  figures: Figures,
): { [Name in keyof Figures]?: number } {
  const known = Object.entries(figures).filter(([, value]) => typeof value === "number" && value > 0);
  return Object.fromEntries(known) as { [Name in keyof Figures]?: number };
}

/** Topics of which something may stay unread. The lag is known only for all topics of a pipeline together. */
function unreadCosts(from: PipelineConfig, to: PipelineConfig, lag: number | undefined): Cost[] {
  const { left, elsewhere } = movesOf(from, to);
  const topics = namesOf(left);
  const isAll = left.length === topicsOf(from).length;
  const known = lag !== undefined && (isAll || lag === 0) ? { lag } : {};
  const before = new Set(namesOf(topicsOf(from)));
  const moved = namesOf(elsewhere).filter((topic) => before.has(topic));
  return [
    ...(topics.length === 0 ? [] : [{ code: "TopicsLeft" as const, facts: { topics, ...known } }]),
    ...(moved.length === 0 ? [] : [{ code: "BrokersChange" as const, facts: { topics: moved } }]),
  ];
}

function optionCosts(from: EngineOptions, to: EngineOptions, hasDedup: boolean): Cost[] {
  const asked = optionsAsked.filter(([name, value]) => to[name] === value && from[name] !== value);
  const [before, after] = [from, to].map(({ null: of = "default" as const }) => of);
  const run = to.take_over === from.take_over ? undefined : to.take_over;
  return [
    ...asked.map(([, , cost]) => cost),
    ...(run === undefined ? [] : [{ code: "TakenOver" as const, facts: { run } }]),
    ...(to.rewind === undefined || to.rewind === from.rewind
      ? []
      : [{ code: "Rewinds" as const, facts: { to: to.rewind, hasDedup } }]),
    ...(before === after ? [] : [{ code: "NullChanges" as const, facts: { to: after! } }]),
    ...tombstoneCosts(from, to),
  ];
}

/** Options of delivery whose new value decides what becomes of events. */
const optionsAsked: readonly (readonly ["on_lost" | "on_uncertain" | "on_view_error", string, Cost])[] = [
  ["on_lost", "skip", { code: "LostSkipped", facts: {} }],
  ["on_uncertain", "skip", { code: "UncertainSkipped", facts: {} }],
  ["on_view_error", "skip", { code: "ViewSkipped", facts: {} }],
  ["on_uncertain", "insert", { code: "UncertainSent", facts: {} }],
];

function tombstoneCosts({ sources: from = {} }: EngineOptions, { sources: to = {} }: EngineOptions): Cost[] {
  const ids = [...new Set([...Object.keys(from), ...Object.keys(to)])];
  return ids.flatMap((source_id): Cost[] => {
    const [before, after] = [from, to].map((one) => one[source_id]?.on_tombstone === "dead_letter");
    return before === after ? [] : [{ code: "TombstonesChange", facts: { source_id, kept: after === true } }];
  });
}

type Dedup = Extract<TransformConfig, { type: "dedup" }>;

/** The number of keys is known for all sources together. */
function dedupCosts(from: PipelineConfig, to: PipelineConfig, keys: number | undefined): Cost[] {
  const [before, after] = [dedupsOf(from), dedupsOf(to)];
  const ids = [...new Set([...before.keys(), ...after.keys()])];
  const figure = before.size === 1 ? nonZero({ keys }) : {};
  return ids.flatMap((source_id) => dedupCost(source_id, before.get(source_id), after.get(source_id), figure));
}

function dedupsOf({ transforms }: PipelineConfig): Map<string, Dedup> {
  return new Map(transforms.flatMap((one) => (one.type === "dedup" ? [[one.source_id, one]] : [])));
}

function dedupCost(
  source_id: string,
  before: Dedup | undefined,
  after: Dedup | undefined,
  figure: { keys?: number },
): Cost[] {
  const [from, to] = [before?.config.time_window ?? "", after?.config.time_window ?? ""];
  if (before === undefined) return [{ code: "DedupBegins", facts: { source_id, window: to } }];
  if (after === undefined) return [{ code: "DedupEnds", facts: { source_id, window: from, ...figure } }];
  if (String(before.config.key) !== String(after.config.key))
    return [{ code: "DedupForgets", facts: { source_id, window: from, ...figure } }];
  return from === to ? [] : [{ code: "WindowChanges", facts: { source_id, from, to } }];
}

function joinCosts({ join: from }: PipelineConfig, { join: to }: PipelineConfig, events: number | undefined): Cost[] {
  if (from === undefined || to === undefined) return [];
  const keepsSides = isDeepStrictEqual([from.left_source, from.right_source], [to.left_source, to.right_source]);
  const [before, after] = [from, to].map((join) => join.output_fields.map((field) => JSON.stringify(field)).toSorted());
  return [
    ...(keepsSides ? [] : [{ code: "JoinForgets" as const, facts: nonZero({ events }) }]),
    ...(isDeepStrictEqual(before, after) ? [] : [{ code: "JoinOutputs" as const, facts: {} }]),
  ];
}

/** Sources whose events are taken from now on. Those of pushed events are never left: that is refused. */
function sourceCosts(from: PipelineConfig, to: PipelineConfig): Cost[] {
  const before = from.sources.map(originOf);
  const sources = to.sources.map(originOf).filter((name) => !before.includes(name));
  return sources.length === 0 ? [] : [{ code: "SourcesBegin", facts: { sources } }];
}

/** What a reader tells a source by: its topic, or its type. */
function originOf(source: SourceConfig): string {
  return source.type === "kafka" ? source.topic : source.type;
}

function expressionCosts(from: PipelineConfig, to: PipelineConfig): Cost[] {
  const types = ["filter", "stateless"] as const;
  const ids = new Set([...from.transforms, ...to.transforms].map(({ source_id }) => source_id));
  return types.flatMap((type) =>
    [...ids].flatMap((source_id): Cost[] => {
      const [before, after] = [from, to].map((config) => textOf(config, type, source_id));
      return before === after ? [] : [{ code: "ExpressionChanges", facts: { source_id, type } }];
    }),
  );
}

/** The config of a transform as one text, to compare it; undefined where there is none. Outputs have no order. */
function textOf({ transforms }: PipelineConfig, type: string, source_id: string): string | undefined {
  const found = transforms.find((one) => one.type === type && one.source_id === source_id);
  const outputs = found?.type === "stateless" ? found.config.transforms.map((one) => JSON.stringify(one)) : undefined;
  return found && JSON.stringify(outputs?.toSorted() ?? found.config);
}

/** Fields that are demanded of each event from now on, that are to have a type where they are there, or are demanded no more. */
function fieldCosts(from: PipelineConfig, to: PipelineConfig): Cost[] {
  const before = new Map(from.sources.map((source) => [source.source_id, declaredBy(source)]));
  return to.sources.flatMap((source): Cost[] => {
    const { source_id } = source;
    const [known, now] = [before.get(source_id), declaredBy(source)];
    return known === undefined ? [] : fieldCostsOf(source_id, known, now);
  });
}

function fieldCostsOf(source_id: string, known: readonly SchemaField[], now: readonly SchemaField[]): Cost[] {
  const isRetyped = ({ name, type }: SchemaField): boolean => known.find((old) => old.name === name)?.type !== type;
  const demanded = named(
    now.filter((one) => isDemandedOf([one], one.name) && (isRetyped(one) || !isDemandedOf(known, one.name))),
  );
  const typed = named(now.filter((one) => one.required === false && isRetyped(one)));
  const freed = named(known.filter(({ name }) => isDemandedOf(known, name) && !isDemandedOf(now, name)));
  return [
    ...(demanded.length === 0 ? [] : [{ code: "FieldsDemanded" as const, facts: { source_id, fields: demanded } }]),
    ...(typed.length === 0 ? [] : [{ code: "FieldsTyped" as const, facts: { source_id, fields: typed } }]),
    ...(freed.length === 0 ? [] : [{ code: "FieldsFreed" as const, facts: { source_id, fields: freed } }]),
  ];
}

function isDemandedOf(fields: readonly SchemaField[], name: string): boolean {
  return fields.some((one) => one.name === name && one.required !== false);
}

function named(fields: readonly SchemaField[]): string[] {
  return fields.map(({ name }) => name);
}

function declaredBy(source: PipelineConfig["sources"][number]): readonly SchemaField[] {
  return "schema_fields" in source ? source.schema_fields : [];
}

function targetCosts({ sink: from }: PipelineConfig, { sink: to }: PipelineConfig): Cost[] {
  const [before, after] = [targetOf(from), targetOf(to)];
  if (!isDeepStrictEqual(before, after)) return [{ code: "TargetChanges", facts: { from: before, to: after } }];
  const [ports, others] = [from, to].map(({ connection_params: { port, http_port } }) => [port, http_port]);
  return [
    ...(isDeepStrictEqual(ports, others) ? [] : [{ code: "PortChanges" as const, facts: { host: after.host } }]),
    ...columnCosts(from, to),
  ];
}

function columnCosts(from: SinkConfig, to: SinkConfig): Cost[] {
  const [before, after] = [from, to].map(({ mapping }) => new Map(mapping.map((one) => [one.column_name, one])));
  const left = [...before!.keys()].filter((column) => !after!.has(column));
  const filled = [...after!.keys()].filter((column) => !isDeepStrictEqual(before!.get(column), after!.get(column)));
  return [
    ...(filled.length === 0 ? [] : [{ code: "ColumnsFilled" as const, facts: { columns: filled } }]),
    ...(left.length === 0 ? [] : [{ code: "ColumnsLeft" as const, facts: { columns: left } }]),
  ];
}
