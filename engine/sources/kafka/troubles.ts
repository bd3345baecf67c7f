import type { Telemetry } from "../../telemetry/telemetry.ts";
import { quietAttempts, waysOut } from "../../flow/retry-pause.ts";
import { needsPerson, troubleText } from "./trouble.ts";

/**
 * What keeps a running source from reading: who fails, and why. The first one that lasts, or that needs a person, is a
 * pause; it ends when none is left.
 */
export class Troubles {
  readonly #pipeline_id: string;
  readonly #telemetry: Telemetry;
  readonly #texts = new Map<string, string>();
  /** When the pause began: as it is shown, and by the monotonic clock in milliseconds. */
  #since: { shown: string; at: number } | undefined;

  constructor(pipeline_id: string, telemetry: Telemetry) {
    this.#pipeline_id = pipeline_id;
    this.#telemetry = telemetry;
  }

  /** Something failed for the `attempt`th time in a row. */
  note(who: string, error: unknown, attempt: number): void {
    if (attempt < quietAttempts && !needsPerson(error)) return;
    const text = `${who}: ${troubleText(error)}`;
    if (this.#texts.get(who) === text) return;
    this.#texts.set(who, text);
    this.#since ??= { shown: new Date().toISOString(), at: performance.now() };
    const pause = { class: "source" as const, since: this.#since.shown, text, way_out: waysOut.source };
    this.#telemetry.paused({ pipeline_id: this.#pipeline_id, pause });
  }

  /** It works again. */
  clear(who: string): void {
    if (!this.#texts.delete(who) || this.#texts.size > 0 || this.#since === undefined) return;
    const seconds = (performance.now() - this.#since.at) / 1000;
    this.#since = undefined;
    this.#telemetry.wentOn({ pipeline_id: this.#pipeline_id, class: "source", seconds });
  }

  clearAll(): void {
    for (const who of this.#texts.keys()) this.clear(who);
  }
}
