import { isDeepStrictEqual } from "node:util";
import { consumerGroup, hasConsumerGroup } from "../../../engine/language.ts";
import { effectOf, eventsOf, highest, highestEvents, isObject, normalise } from "../../../schemas/index.ts";
import type { Effect, EngineOptions, EventEffect, Path, PipelineConfig } from "../../../schemas/index.ts";
import type { DesiredPipeline } from "../../desired/desired-state.ts";
import { isHidden, shown } from "../../desired/shown.ts";
import type { Change, FieldChange } from "../change.ts";
import { leavesUnread, movesOf } from "./kafka.ts";

/** A change of a field with the way to it in the canonical config of the file, or of the engine if the file has none. */
export interface Difference extends FieldChange {
  at: Path;
  /** The file has a secret in plain text here. */
  isHidden?: true;
}

/** A pipeline as far as the engine keeps it. */
export interface Kept {
  config: PipelineConfig;
  options: EngineOptions;
}

/** A spot in both documents: `names` for people and the schema, `at` with the positions in lists. */
interface Spot {
  names: Path;
  at: Path;
  /** Sources that have a dedup before and after. */
  keyed: readonly string[];
}

interface Known extends Kept {
  found: Difference[];
}

const knownByFile = new WeakMap<DesiredPipeline, Known>();

/**
 * What differs between a pipeline and its file. Neither object is ever altered, only replaced, so the result for the
 * same two objects is cached.
 */
export function differencesOf(desired: DesiredPipeline, { config, options }: Kept): Difference[] {
  const known = knownByFile.get(desired);
  if (known !== undefined && known.config === config && known.options === options) return known.found;
  const wanted = { config: normalise(desired.document, config), options: desired.options };
  const found = differences({ config, options }, wanted).map((one) => withVariables(one, desired));
  knownByFile.set(desired, { config, options, found });
  return found;
}

function withVariables(found: Difference, desired: DesiredPipeline): Difference {
  const variables = desired.variables(found.at);
  return variables.length === 0 ? found : { ...found, variables };
}

/** Differences of two canonical pipelines, in the order of the fields. Empty only if both are deeply equal. */
export function differences(from: Kept, to: Kept): Difference[] {
  const keyed = dedupSources(to.config).filter((source) => dedupSources(from.config).includes(source));
  const root: Spot = { names: [], at: [], keyed };
  const found = [
    ...kindOfSource(from.config, to.config, root),
    ...joinOrNone(from.config, to.config, root),
    ...compare(...comparable(from.config, to.config), root),
    ...compare(...withGroups(from, to), { ...root, names: ["x-sluice"], at: ["x-sluice"] }),
  ];
  if (found.length === 0) return found;
  const moves = movesOf(from.config, to.config);
  return found.map((one) => {
    if (leavesUnread(one, moves)) return { ...one, events: "forget" };
    // Another source goes on with a topic that is left by this one.
    return one.at.at(-1) === "topic" ? { ...one, events: "rows" } : one;
  });
}

/** Differences as a change has them, and the highest of their effects. */
export function fieldsOf(found: readonly Difference[]): Pick<Change, "fields" | "effect" | "events"> {
  const fields = found.map(({ at: _at, isHidden: _isHidden, ...field }) => field);
  const events = highestEvents(found.map((one) => one.events));
  return { fields, effect: highest(found.map(({ effect }) => effect)), events };
}

/** The options of two pipelines; with the names of their groups where a file names one: left out, it has a name as well. */
function withGroups(from: Kept, to: Kept): [unknown, unknown] {
  const isNamed = from.options.consumer_group !== to.options.consumer_group;
  if (!isNamed || !hasConsumerGroup(from.config)) return [from.options, to.options];
  const named = ({ config, options }: Kept) => {
    return { ...options, consumer_group: consumerGroup(config.pipeline_id, options) };
  };
  return [named(from), named(to)];
}

function dedupSources(config: PipelineConfig): string[] {
  return config.transforms.filter(({ type }) => type === "dedup").map(({ source_id }) => source_id);
}

function compare(from: unknown, to: unknown, spot: Spot): Difference[] {
  if (isDeepStrictEqual(from, to)) return [];
  if (isObject(from) && isObject(to)) {
    const keys = new Set([...Object.keys(from), ...Object.keys(to)]);
    return [...keys].flatMap((key) => compare(from[key], to[key], into(spot, key, key)));
  }
  const ids = Array.isArray(from) && Array.isArray(to) ? identity(from, to) : undefined;
  if (ids !== undefined) return compareLists(from as unknown[], to as unknown[], ids, spot);
  return [difference(from, to, spot)];
}

/**
 * The type pairs sources, so another type would only show as another source. A removed source may have accepted events
 * that are not written.
 */
function kindOfSource(from: PipelineConfig, to: PipelineConfig, spot: Spot): Difference[] {
  const types = new Set<string>(to.sources.map(({ type }) => type));
  const gone = from.sources.findIndex(({ type }) => !types.has(type));
  if (gone === -1) return [];
  const at = Math.min(gone, to.sources.length - 1);
  const type = into(into(into(spot, "sources", "sources"), String(at), at), "type", "type");
  return compare(from.sources[gone]?.type, to.sources[at]?.type, type);
}

/** A pipeline keeps its join, or has none: rows of a join that are not in the table yet would stay unread. */
function joinOrNone(from: PipelineConfig, to: PipelineConfig, spot: Spot): Difference[] {
  const enabled = into(into(spot, "join", "join"), "enabled", "enabled");
  return compare(from.join !== undefined, to.join !== undefined, enabled);
}

/** Two configs, without a join that only one of them has: `joinOrNone` has said so. */
function comparable(from: PipelineConfig, to: PipelineConfig): [unknown, unknown] {
  if ((from.join === undefined) === (to.join === undefined)) return [from, to];
  const [{ join: _from, ...before }, { join: _to, ...after }] = [from, to];
  return [before, after];
}

/** Entries are paired by their identity, so that a new first entry does not change all the others. */
function compareLists(from: unknown[], to: unknown[], ids: (entry: unknown) => string, spot: Spot): Difference[] {
  const before = new Map(from.map((entry, index) => [ids(entry), { entry, index }]));
  const after = new Map(to.map((entry, index) => [ids(entry), { entry, index }]));
  const found = [...new Set([...before.keys(), ...after.keys()])].flatMap((id) => {
    const [old, now] = [before.get(id), after.get(id)];
    return compare(old?.entry, now?.entry, into(spot, id, now?.index ?? old?.index ?? 0));
  });
  const order = [...before.keys()].filter((id) => after.has(id));
  const newOrder = [...after.keys()].filter((id) => before.has(id));
  if (isDeepStrictEqual(order, newOrder)) return found;
  // Steps run in an order of their own, and columns are told by their names.
  return [...found, { ...difference(order, newOrder, spot), events: "same" }];
}

function into(spot: Spot, name: string, position: string | number): Spot {
  return { ...spot, names: [...spot.names, name], at: [...spot.at, position] };
}

function difference(from: unknown, to: unknown, spot: Spot): Difference {
  const { names, at } = spot;
  const [before, after] = [shown(from, at), shown(to, at)];
  return {
    path: text(names, at),
    at,
    effect: effectBetween(from, to, spot),
    events: eventsBetween(from, to, spot),
    ...(from !== undefined && { from: before }),
    ...(to !== undefined && { to: after }),
    ...(from !== undefined && to !== undefined && isDeepStrictEqual(before, after) && { secret: true }),
    ...(isHidden(to, at) && { isHidden: true }),
  };
}

function effectBetween(from: unknown, to: unknown, { names, at, keyed }: Spot): Effect {
  const [section, list, source_id] = names;
  const isOfTransform = section === "resources" && list === "transform";
  const effect = effectOf(at, { withDedup: isOfTransform && keyed.includes(String(source_id)) });
  // An immutable field may be added or left out; only another value is refused.
  return effect === "refuse" && (from === undefined || to === undefined) ? "restart" : effect;
}

function eventsBetween(from: unknown, to: unknown, { at }: Spot): EventEffect {
  // A removed dedup loses its keys.
  if (to === undefined && isObject(from) && from["type"] === "dedup") return "forget";
  return eventsOf(at, to, from);
}

function text(names: Path, at: Path): string {
  return names
    .map((name, index) => (typeof at[index] === "number" ? `[${name}]` : index === 0 ? `${name}` : `.${name}`))
    .join("");
}

/** The keys that identify the entries of a list, the most specific first. */
const identities = [["column_name"], ["type", "source_id"], ["output_name"], ["source_id"], ["name"]] as const;

/** What names an entry, if it names each entry of both lists differently. */
function identity(from: unknown[], to: unknown[]): ((entry: unknown) => string) | undefined {
  if (![...from, ...to].every(isObject)) return undefined;
  const entries = [from, to] as Record<string, unknown>[][];
  const keys = identities.find((candidate) =>
    entries.every((list) => {
      const names = list.map((entry) => candidate.map((key) => entry[key]));
      return names.flat().every((name) => typeof name === "string") && new Set(names.map(String)).size === list.length;
    }),
  );
  return keys && ((entry) => keys.map((key) => (entry as Record<string, string>)[key]).join(" of "));
}
