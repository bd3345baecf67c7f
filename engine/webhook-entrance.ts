import type { AccessTokens } from "./access-tokens.ts";
import type { Push } from "./core/push.ts";
import type { Doorkeeper } from "./doorkeeper.ts";
import type { WebhookPort } from "./sources/webhook/intake.ts";
import type { Telemetry } from "./telemetry/telemetry.ts";

interface WebhookDoorParts {
  doorkeeper: Doorkeeper;
  tokens: AccessTokens;
  telemetry: Pick<Telemetry, "eventAccepted" | "eventRefused">;
}

/** What the webhook intake may do: look a pipeline up, check its token, store an event. */
export class WebhookEntrance implements WebhookPort {
  readonly #parts: WebhookDoorParts;

  constructor(parts: WebhookDoorParts) {
    this.#parts = parts;
  }

  admits(pipeline_id: string): "yes" | "unknown" | "over" {
    const { doorkeeper } = this.#parts;
    if (!doorkeeper.sourcesOf(pipeline_id).includes("webhook")) return "unknown";
    return doorkeeper.isOver(pipeline_id) ? "over" : "yes";
  }

  isToken(pipeline_id: string, token: string): boolean {
    return this.#parts.tokens.accepts(pipeline_id, token);
  }

  store(pipeline_id: string, push: Push): Promise<void> {
    return this.#parts.doorkeeper.store(pipeline_id, push, "ingestor");
  }

  answered(pipeline_id: string | undefined, status: number, bytes: number): void {
    // A caller may ask for any id: only real ones become labels.
    const label = pipeline_id ?? "unknown";
    if (status === 202) this.#parts.telemetry.eventAccepted({ pipeline_id: label, bytes });
    else this.#parts.telemetry.eventRefused({ pipeline_id: label, status });
  }
}
