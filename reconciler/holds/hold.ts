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
  author?: string;
  subject?: string;
}

export interface HoldsState {
  version: 1;
  /** Nothing is changed at all. */
  everything?: Hold;
  /** By pipeline_id: it is left as it is. */
  pipelines: Readonly<Record<string, Hold>>;
  pin?: Pin;
}

/** A suspension or pin that cannot be set or lifted, and why. */
export class HoldError extends Error {}

/** The suspension of this pipeline alone. `constructor` is an id that a pipeline may have. */
export function ownHold({ pipelines }: HoldsState, pipeline_id: string): Hold | undefined {
  return Object.hasOwn(pipelines, pipeline_id) ? pipelines[pipeline_id] : undefined;
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
  const { everything, pin } = state;
  const holds = [...Object.values(state.pipelines), ...(everything === undefined ? [] : [everything])];
  const isPin = pin === undefined || (isHold(pin) && [pin.commit, pin.head, pin.revision].every(isText));
  return holds.every(isHold) && isPin ? (state as HoldsState) : undefined;
}

function isHold(value: unknown): value is Hold {
  const { since, by = "", reason = "" } = (value ?? {}) as Partial<Record<keyof Hold, unknown>>;
  return isText(since) && !Number.isNaN(Date.parse(since)) && isText(by) && isText(reason);
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
