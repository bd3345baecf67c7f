/** A suspension or pin: who set it, when, and why. */
export interface Hold {
  /** ISO 8601, UTC. */
  since: string;
  /** The name that the person gave. */
  by?: string;
  reason?: string;
}

/** The commit of a rollback. It holds as long as the followed ref stays at `head`. */
export interface Pin extends Hold {
  commit: string;
  /** As a revision's id. */
  revision: string;
  /** The commit of the followed ref when the pin was made. */
  head: string;
  /** The branch that was read then. */
  branch?: string;
  /** Where the server redirected then; absent where it did not. */
  redirected?: string;
  author?: string;
  subject?: string;
}

/** A stop by an operator without a commit, which ends by itself. */
export interface StopHold extends Hold {
  /** ISO 8601, UTC. */
  until: string;
  /** It is terminated, and not drained. */
  way?: "terminate";
}

/** The state in which a stop keeps its pipeline. */
export function stateIn({ way }: Pick<StopHold, "way">): "Stopped" | "Terminated" {
  return way === "terminate" ? "Terminated" : "Stopped";
}

export interface HoldsState {
  version: 1;
  /** Nothing is changed at all. */
  everything?: Hold;
  /** By pipeline_id: it is left as it is. */
  pipelines: Readonly<Record<string, Hold>>;
  /** By pipeline_id: it is stopped, also after the time of its end, until another stop is set. */
  stops?: Readonly<Record<string, StopHold>>;
  pin?: Pin;
}

/** A suspension or pin that cannot be set or lifted, and why. */
export class HoldError extends Error {}

/** The suspension of this pipeline alone. `constructor` is an id that a pipeline may have. */
export function ownHold({ pipelines }: HoldsState, pipeline_id: string): Hold | undefined {
  return Object.hasOwn(pipelines, pipeline_id) ? pipelines[pipeline_id] : undefined;
}

/** The stop of this pipeline by an operator; undefined once its time is over. */
export function stopOf({ stops = {} }: HoldsState, pipeline_id: string): StopHold | undefined {
  const stop = Object.hasOwn(stops, pipeline_id) ? stops[pipeline_id] : undefined;
  return stop === undefined || Date.parse(stop.until) <= Date.now() ? undefined : stop;
}

/** The ids of a pipeline, of which the one that it has until it is moved comes first: it is held by either. */
function idsOf({ pipeline_id, moved_from }: Named): string[] {
  return moved_from === undefined ? [pipeline_id] : [moved_from, pipeline_id];
}

/** The id by which an operator suspended a pipeline, else the one of its file. */
export function suspendedId(holds: HoldsState, named: Named): string {
  return idsOf(named).find((id) => ownHold(holds, id) !== undefined) ?? named.pipeline_id;
}

/** The id by which an operator stopped a pipeline, else the one of its file. */
export function stoppedId(holds: HoldsState, named: Named): string {
  return idsOf(named).find((id) => stopOf(holds, id) !== undefined) ?? named.pipeline_id;
}

/** The stop of a pipeline by either of its ids. */
export function stopFor(holds: HoldsState, named: Named): StopHold | undefined {
  return stopOf(holds, stoppedId(holds, named));
}

/** The holds in which those of pipelines that were moved, by their former ids, are by the ids that they have now. */
export function holdsMoved(holds: HoldsState, moves: ReadonlyMap<string, string>): HoldsState {
  const { pipelines, stops, ...rest } = holds;
  return { ...rest, pipelines: byPresentId(pipelines, moves), ...(stops && { stops: byPresentId(stops, moves) }) };
}

/** What was said of the present id counts where something was said of both. */
function byPresentId<Of>(of: Readonly<Record<string, Of>>, moves: ReadonlyMap<string, string>): Record<string, Of> {
  const moved = Object.entries(of).filter(([id]) => moves.has(id));
  const others = Object.entries(of).filter(([id]) => !moves.has(id));
  return Object.fromEntries([...moved.map(([id, hold]): [string, Of] => [moves.get(id)!, hold]), ...others]);
}

interface Named {
  pipeline_id: string;
  moved_from?: string;
}

/** Undefined for a text that is not a list of holds. */
export function parseHolds(text: string): HoldsState | undefined {
  let state: Partial<HoldsState> | null;
  try {
    state = JSON.parse(text) as Partial<HoldsState> | null;
  } catch {
    return undefined;
  }
  if (state?.version !== 1 || typeof state.pipelines !== "object" || state.pipelines === null) return undefined;
  const { everything, pin, stops = {} } = state;
  if (typeof stops !== "object" || stops === null || !Object.values(stops).every(isStop)) return undefined;
  const holds = [...Object.values(state.pipelines), ...(everything === undefined ? [] : [everything])];
  const isPin = pin === undefined || (isHold(pin) && [pin.commit, pin.head, pin.revision].every(isText));
  return holds.every(isHold) && isPin ? (state as HoldsState) : undefined;
}

function isHold(value: unknown): value is Hold {
  const { since, by = "", reason = "" } = (value ?? {}) as Partial<Record<keyof Hold, unknown>>;
  return isText(since) && !Number.isNaN(Date.parse(since)) && isText(by) && isText(reason);
}

function isStop(value: unknown): value is StopHold {
  const { until, way } = (value ?? {}) as Partial<Record<keyof StopHold, unknown>>;
  const isKnown = way === undefined || way === "terminate";
  return isHold(value) && isKnown && isText(until) && !Number.isNaN(Date.parse(until));
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
