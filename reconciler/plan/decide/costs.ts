import { isDeepStrictEqual } from "node:util";
import { hasAccessToken, isPushed } from "../../../engine/language.ts";
import type { PipelineConfig, SchemaField, TransformConfig } from "../../../schemas/index.ts";
import type { ActualPipeline } from "../../actual/state.ts";
import type { DesiredPipeline } from "../../desired/desired-state.ts";
import { doesSomething } from "../change.ts";
import type { Action, Change } from "../change.ts";
import type { Cost } from "../cost.ts";
import { unwrittenOf } from "./ending.ts";
import { targetOf } from "./tables.ts";

/** What a change means for events, rows and senders; `desired` is absent where no valid file has the pipeline. */
export function costsOf(change: Change, present?: ActualPipeline, desired?: DesiredPipeline): Cost[] {
  const { kind, pipeline_id } = change;
  if (!doesSomething(change)) return [];
  if (kind === "create") return tokenMade(desired);
  if (present === undefined) return [];
  if (kind === "delete") return endOf(pipeline_id, present);
  if (desired === undefined) return [];
  if (kind === "recreate") {
    return [{ code: "DeadLettersDropped", facts: nonZero({ count: present.dead_letters }) }, ...joinDropped(present)];
  }
  return [...pauseOf(change, present), ...endingsOf(change, present), ...editOf(change, present, desired.config)];
}

/** The figures that are known and are not zero. */
function nonZero<Figures extends Record<string, number | "unknown" | undefined>>(
  figures: Figures,
): { [Name in keyof Figures]?: number } {
  const known = Object.entries(figures).filter(([, value]) => typeof value === "number" && value > 0);
  return Object.fromEntries(known) as { [Name in keyof Figures]?: number };
}

function tokenMade(desired: DesiredPipeline | undefined): Cost[] {
  if (desired === undefined || !hasAccessToken(desired.config)) return [];
  const { pipeline_id, options } = desired;
  return options.access_token === undefined ? [{ code: "TokenMade", facts: { pipeline_id } }] : [];
}

function endOf(pipeline_id: string, present: ActualPipeline): Cost[] {
  const { config, status, dead_letters: count } = present;
  const isDropped = status === "Terminated";
  return [
    ...joinDropped(present),
    ...(isPushed(config) && !isDropped ? [sendersRefused] : []),
    ...(isDropped ? [] : [{ code: "DeadLettersFirst" as const, facts: { pipeline_id, ...nonZero({ count }) } }]),
  ];
}

const sendersRefused: Cost = { code: "SendersRefused", facts: {} };

/** A Terminated pipeline has dropped it already. */
function joinDropped({ config, status, join }: ActualPipeline, rows?: number): Cost[] {
  if (config.join === undefined || status === "Terminated") return [];
  return [{ code: "JoinDropped", facts: nonZero({ events: join?.events, rows }) }];
}

/** How the change is carried out on a pipeline that runs. */
function pauseOf({ calls }: Action, present: ActualPipeline): Cost[] {
  const { config, status } = present;
  if (status !== "Running") return [];
  if (!calls.includes("stop")) return calls.includes("terminate") ? [] : [{ code: "AppliedLive", facts: {} }];
  if (!calls.includes("resume")) return [];
  const writes = unwrittenOf(present);
  const isWriting = writes.held !== 0 || writes.pending_batches > 0 || writes.rows !== undefined;
  return [{ code: "Drains", facts: { waits: isPushed(config) ? "stream" : "topic", ...(isWriting && { writes }) } }];
}

/** What it means that it does not run any more. */
function endingsOf({ calls }: Action, present: ActualPipeline): Cost[] {
  const { config, status, held, lag, join } = present;
  const dropped = calls.includes("terminate") ? joinDropped(present, join?.rows) : [];
  if (status !== "Running" || calls.includes("resume")) return dropped;
  if (calls.includes("terminate") && isPushed(config))
    return [{ code: "EventsDropped", facts: nonZero({ held }) }, sendersRefused];
  const isStopped = calls.includes("stop") || calls.includes("terminate");
  return isStopped && !isPushed(config) ? [...dropped, { code: "ReadingStops", facts: nonZero({ lag }) }] : dropped;
}

/** What the new config means, field by field. */
function editOf({ fields }: Action, { config: from, keys, join }: ActualPipeline, to: PipelineConfig): Cost[] {
  if (fields.length === 0) return [];
  return [
    ...dedupCosts(from, to, keys),
    ...joinCosts(from, to, join?.events),
    ...expressionCosts(from, to),
    ...fieldCosts(from, to),
    ...targetCosts(from, to),
  ];
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
  return keepsSides ? [] : [{ code: "JoinForgets", facts: nonZero({ events }) }];
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

/** The config of a transform as one text, to compare it; undefined where there is none. */
function textOf({ transforms }: PipelineConfig, type: string, source_id: string): string | undefined {
  const found = transforms.find((one) => one.type === type && one.source_id === source_id);
  return found && JSON.stringify(found.config);
}

/** Declared fields are demanded of each event. */
function fieldCosts(from: PipelineConfig, to: PipelineConfig): Cost[] {
  const before = new Map(from.sources.map((source) => [source.source_id, declaredBy(source)]));
  return to.sources.flatMap((source): Cost[] => {
    const { source_id } = source;
    const known = before.get(source_id);
    if (known === undefined) return [];
    const types = new Map(known.map(({ name, type }) => [name, type]));
    const fields = declaredBy(source).flatMap(({ name, type }) => (types.get(name) === type ? [] : [name]));
    return fields.length === 0 ? [] : [{ code: "FieldsDemanded", facts: { source_id, fields } }];
  });
}

function declaredBy(source: PipelineConfig["sources"][number]): readonly SchemaField[] {
  return "schema_fields" in source ? source.schema_fields : [];
}

function targetCosts({ sink: from }: PipelineConfig, { sink: to }: PipelineConfig): Cost[] {
  const [before, after] = [targetOf(from), targetOf(to)];
  if (!isDeepStrictEqual(before, after)) return [{ code: "TargetChanges", facts: { from: before, to: after } }];
  const names = new Set(to.mapping.map(({ column_name }) => column_name));
  const columns = from.mapping.map(({ column_name }) => column_name).filter((name) => !names.has(name));
  return columns.length === 0 ? [] : [{ code: "ColumnsLeft", facts: { columns } }];
}
