import { setTimeout as sleep } from "node:timers/promises";
import type { Failure } from "./core/sink.ts";
import type { Telemetry } from "./telemetry/telemetry.ts";
import type { Pause } from "./view.ts";

const firstWait = 500;
const longestWait = 60_000;
/** A transient failure shorter than this many attempts is no pause that a person needs to see. */
const quietAttempts = 3;

const waysOut: Record<Pause["class"], string> = {
  transient: "it goes on by itself when the server answers again",
  row: "correct the mapping or the table; it goes on by itself when the server takes the rows",
  partitions:
    "use fewer partitions per insert (a smaller max_batch_size, another PARTITION BY) or raise max_partitions_per_insert_block",
  view: "mend or drop the materialized view; the rows in the base table are kept",
  setup: "correct the table, the rights, the login or the mapping; it goes on by itself within a minute",
  disk: "make room on the disk of the data dir; it goes on by itself",
};

/**
 * Where a pipeline waits between attempts: it backs off 0.5 s to 60 s, and says from when on, and why, the wait is a
 * pause. It is entered by failures and left by the first success.
 */
export class WaitingRoom {
  readonly #pipeline_id: string;
  readonly #telemetry: Telemetry;
  #pause: Pause | undefined;

  constructor(pipeline_id: string, telemetry: Telemetry) {
    this.#pipeline_id = pipeline_id;
    this.#telemetry = telemetry;
  }

  /** Whether waiting for this is a pause that a person should see, rather than a short disturbance. */
  isPause(failure: { class: Pause["class"] }, attempt: number): boolean {
    return failure.class !== "transient" || attempt >= quietAttempts;
  }

  /** Waits before attempt number `attempt` + 1 (attempts count from 1). Returns early, without an error, when `signal` aborts. */
  async wait(failure: { class: Pause["class"]; text: string }, attempt: number, signal: AbortSignal): Promise<void> {
    if (this.isPause(failure, attempt)) this.#enter(failure);
    const longest = Math.min(longestWait, firstWait * 2 ** (attempt - 1));
    await sleep(longest * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => undefined);
  }

  /** Something worked: the pause is over. */
  leave(): void {
    if (this.#pause === undefined) return;
    const seconds = (Date.now() - Date.parse(this.#pause.since)) / 1000;
    this.#telemetry.wentOn({ pipeline_id: this.#pipeline_id, class: this.#pause.class, seconds });
    this.#pause = undefined;
  }

  #enter({ class: kind, text }: { class: Failure["class"] | "disk"; text: string }): void {
    if (this.#pause?.class === kind && this.#pause.text === text) return;
    const since = this.#pause?.class === kind ? this.#pause.since : new Date().toISOString();
    if (this.#pause !== undefined && this.#pause.class !== kind) this.leave();
    this.#pause = { class: kind, since, text, way_out: waysOut[kind] };
    this.#telemetry.paused({ pipeline_id: this.#pipeline_id, pause: this.#pause });
  }
}
