import { EngineError, type ErrorCode } from "../../engine/index.ts";
import { backOff } from "../../engine/language.ts";
import type { Outcome } from "./outcome.ts";

/** Milliseconds: the first wait, and the longest after an error and for a pipeline in transition. */
const first = 1_000;
const longest = { generic: 300_000, waiting: 30_000 };

/** The shares of a wait between which it is drawn at random: changes which failed together are not retried together. */
const spread = [0.8, 1] as const;

interface Attempts {
  /** What was attempted: the back-off begins again for another content. */
  content: string;
  count: number;
  /** Milliseconds since the epoch. */
  next: number;
  /** Why it is not tried again. */
  stalls?: string;
  /** Why the last try did not begin. */
  unready?: Outcome;
}

/**
 * When each pipeline may be tried again: after 1 s, 2 s, 4 s, … up to 5 min, less a little at random; never after an
 * error that no retry resolves. Another content is tried at once, so that a corrected file never waits for the back-off
 * of the broken one.
 */
export class Backoff {
  readonly #attempts = new Map<string, Attempts>();

  /** How often this content was tried. */
  count(pipeline_id: string, content: string): number {
    return this.#of(pipeline_id, content)?.count ?? 0;
  }

  /** When it may be tried next, in milliseconds since the epoch; 0 for at once. */
  next(pipeline_id: string, content: string): number {
    const next = this.#of(pipeline_id, content)?.next ?? 0;
    // A time beyond the longest wait means that the clock was set back.
    return next > Date.now() + longest.generic ? 0 : next;
  }

  /** Why it is not tried again before its content changes; undefined where it is tried again. */
  stalls(pipeline_id: string, content: string): string | undefined {
    return this.#of(pipeline_id, content)?.stalls;
  }

  /** Notes a try that begins at `now`. */
  attempt(pipeline_id: string, content: string, now: number): void {
    const count = this.count(pipeline_id, content) + 1;
    this.#attempts.set(pipeline_id, { content, count, next: now + waitAfter(count, "generic") });
  }

  /** Notes how that try failed. */
  failed(pipeline_id: string, content: string, policy: ErrorPolicy, message: string): void {
    const attempts = this.#of(pipeline_id, content);
    if (attempts === undefined) return;
    if (policy === "stalling") attempts.stalls = message;
    if (policy === "waiting") attempts.next = Math.min(attempts.next, Date.now() + waitAfter(attempts.count, policy));
  }

  /** Notes that a try did not begin, and why. */
  unready(pipeline_id: string, content: string, outcome: Outcome): void {
    const attempts = this.#of(pipeline_id, content);
    if (attempts !== undefined) attempts.unready = outcome;
  }

  /** Why the last try did not begin; undefined where it did. */
  whyUnready(pipeline_id: string, content: string): Outcome | undefined {
    return this.#of(pipeline_id, content)?.unready;
  }

  clear(pipeline_id: string): void {
    this.#attempts.delete(pipeline_id);
  }

  #of(pipeline_id: string, content: string): Attempts | undefined {
    const attempts = this.#attempts.get(pipeline_id);
    return attempts?.content === content ? attempts : undefined;
  }
}

function waitAfter(count: number, policy: Exclude<ErrorPolicy, "stalling">): number {
  return Math.round(backOff(count, first, longest[policy], spread));
}

/**
 * Whether and when a failed call is tried again.
 *
 * - `stalling`: this config can never work; it is tried again only after it was changed.
 * - `waiting`: the status of the pipeline has changed since the plan; it is planned again soon. This is no error.
 * - `generic`: it is tried again with growing pauses, for example until a missing secret is set or a disk has room.
 */
type ErrorPolicy = "stalling" | "waiting" | "generic";

const policies: Partial<Record<ErrorCode, ErrorPolicy>> = {
  IMMUTABLE_FIELD: "stalling",
  NOT_SUPPORTED: "stalling",
  ADDRESS_INVALID: "stalling",
  PIPELINE_NOT_FOUND: "waiting",
  PIPELINE_EXISTS: "waiting",
  PIPELINE_ALREADY_IN_STATE: "waiting",
  PIPELINE_IN_TRANSITION: "waiting",
  INVALID_STATUS_TRANSITION: "waiting",
  PIPELINE_NOT_STOPPED_FOR_EDIT: "waiting",
};

export function policyOf(error: unknown): ErrorPolicy {
  return (error instanceof EngineError ? policies[error.code] : undefined) ?? "generic";
}
