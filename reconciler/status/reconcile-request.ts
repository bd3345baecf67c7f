import type { ReconcileSnapshot } from "./status.ts";
import { documentCount } from "../desired/desired-state.ts";
import { resultOf, type Turn, type TurnResult } from "./turn.ts";

/** What a request asks for: that the source is read, or a turn alone, which carries out what an operator ordered. */
export type Requested = "source" | "turn";

/**
 * Requests for a turn, each with a token that is echoed when a turn that began after it has ended, and where it asks for
 * that, has read the source since. A token is a time, ISO 8601 in UTC, and each is later than the one before it: a turn
 * that answers one answers all earlier ones.
 */
export class Requests {
  #asked = "";
  /** The newest that a turn has answered, and the newest since which a turn has read the source. */
  #turned: string | undefined;
  #handled: string | undefined;
  /** Tokens before this were given by an earlier process: every turn of this one began after them. */
  readonly #since = new Date().toISOString();
  #hasTurned = false;
  #hasRead = false;

  /** The token of a new request. */
  ask(): string {
    const next = Math.max(Date.now(), this.#asked === "" ? 0 : Date.parse(this.#asked) + 1);
    this.#asked = new Date(next).toISOString();
    return this.#asked;
  }

  /** The token that a turn which begins now answers: the newest, where there is one. */
  get newest(): string | undefined {
    return this.#asked === "" ? undefined : this.#asked;
  }

  get handled(): string | undefined {
    return this.#handled;
  }

  /** A turn has ended that began when `turn` was the newest. `source`: which was that when it read the source; absent where it has not. */
  handle(turn: string | undefined, source?: { newest: string | undefined }): void {
    this.#turned = turn ?? this.#turned;
    this.#hasTurned = true;
    if (source === undefined) return;
    this.#handled = source.newest ?? this.#handled;
    this.#hasRead = true;
  }

  isHandled(token: string, of: Requested = "source"): boolean {
    const [handled, hasEnded] = of === "turn" ? [this.#turned, this.#hasTurned] : [this.#handled, this.#hasRead];
    if (hasEnded && token < this.#since) return true;
    return handled !== undefined && token <= handled;
  }
}

/** The state of a request for a turn. */
export interface ReconcileAnswer {
  requested_at: string;
  /** `ended`: a turn that began after the request has ended, and so has every change that was begun. */
  state: "waiting" | "under way" | "ended";
  /** Pipelines with a change under way. */
  under_way: string[];
  /** Of the last turn. Absent before it has ended. */
  result?: TurnResult;
  revision?: string;
  error?: string;
  /** Documents of the files that the last turn read, valid or not. Absent before it has read any revision. */
  documents?: number;
  /** Pipelines, and the source, that do not match the files or are not ready; those that are kept (`PruneHeld`) among them. */
  open: { name: string; reason: string; message: string }[];
  /** Documents that cannot be used, such as `orders.yaml:3:1: …`. */
  problems: string[];
}

/** The reason of a pipeline that runs well and that the files lack, so that not everything is as they say. */
const kept = "PruneHeld";

/** The result of the last turn, and what does not match the files now. */
export function endOf(
  turn: Turn,
  now: ReconcileSnapshot,
): Omit<ReconcileAnswer, "requested_at" | "state" | "under_way"> {
  const { revision, desired, error = turn.fetchError } = turn;
  const named = [{ pipeline_id: "source", conditions: now.conditions }, ...now.pipelines];
  const open = named.flatMap(({ pipeline_id: name, conditions }) => {
    const ready = conditions.find(
      ({ type, status, reason }) => type === "Ready" && (status !== "True" || reason === kept),
    );
    return ready === undefined ? [] : [{ name, reason: ready.reason, message: ready.message }];
  });
  const errors = now.problems.filter(({ severity }) => severity === "error");
  return {
    result: resultOf(turn),
    ...(revision !== undefined && { revision: revision.id }),
    ...(error !== undefined && { error: error.message }),
    ...(desired !== undefined && { documents: documentCount(desired) }),
    open,
    problems: errors.map(({ file, line, column, message }) => `${file}:${line}:${column}: ${message}`),
  };
}
