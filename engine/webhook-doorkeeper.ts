import type { AccessTokens } from "./access-tokens.ts";
import { EngineError } from "./core/errors.ts";
import type { WebhookDoor } from "./sources/webhook/intake.ts";
import type { Register } from "./register.ts";
import type { StreamShelf } from "./stream-shelf.ts";
import type { Recorder } from "./telemetry/recorder.ts";

interface DoorkeeperParts {
  register: Register;
  tokens: AccessTokens;
  streams: StreamShelf;
  recorder: Recorder;
}

/** What the webhook intake may do: look a pipeline up, check its token, store an event. */
export class WebhookDoorkeeper implements WebhookDoor {
  readonly #parts: DoorkeeperParts;
  /** Events that are on their way to the disk. */
  readonly #storing = new Map<string, Set<Promise<unknown>>>();
  /** Since when a pipeline's stream refuses events, in milliseconds since the epoch. */
  readonly #fullSince = new Map<string, number>();

  constructor(parts: DoorkeeperParts) {
    this.#parts = parts;
  }

  admits(pipeline_id: string): "yes" | "unknown" | "over" {
    const entry = this.#parts.register.find(pipeline_id);
    if (entry?.token === undefined) return "unknown";
    const isOver = entry.status === "Terminated" || entry.status === "Terminating" || entry.intake === "closed";
    return isOver ? "over" : "yes";
  }

  isToken(pipeline_id: string, token: string): boolean {
    return this.#parts.tokens.accepts(pipeline_id, token);
  }

  async store(pipeline_id: string, event: Buffer): Promise<void> {
    // Its intake may have been closed while the event was read.
    if (this.admits(pipeline_id) !== "yes") {
      throw new EngineError("STREAM_CLOSED", `pipeline ${pipeline_id} takes no events any more`);
    }
    const storing = this.#storing.get(pipeline_id) ?? new Set();
    this.#storing.set(pipeline_id, storing);
    const append = this.#parts.streams.get(pipeline_id).append(event, Date.now());
    storing.add(append);
    try {
      await append;
    } catch (error) {
      if (error instanceof EngineError && error.code === "STREAM_FULL") this.#backpressure(pipeline_id);
      throw error;
    } finally {
      storing.delete(append);
    }
    this.#flows(pipeline_id);
  }

  /** Resolves when no event of a pipeline is on its way any more. */
  async stored(pipeline_id: string): Promise<void> {
    const storing = this.#storing.get(pipeline_id);
    if (storing !== undefined) await Promise.allSettled(storing);
  }

  answered(pipeline_id: string | undefined, status: number, bytes: number): void {
    // A caller may ask for any id: only real ones become labels.
    const label = pipeline_id ?? "unknown";
    if (status === 202) this.#parts.recorder.eventAccepted({ pipeline_id: label, bytes });
    else this.#parts.recorder.eventRefused({ pipeline_id: label, status });
  }

  #backpressure(pipeline_id: string): void {
    if (this.#fullSince.has(pipeline_id)) return;
    this.#fullSince.set(pipeline_id, Date.now());
    this.#parts.recorder.backpressure({ pipeline_id, active: true, seconds: 0 });
  }

  #flows(pipeline_id: string): void {
    const since = this.#fullSince.get(pipeline_id);
    if (since === undefined) return;
    this.#fullSince.delete(pipeline_id);
    this.#parts.recorder.backpressure({ pipeline_id, active: false, seconds: (Date.now() - since) / 1000 });
  }
}
