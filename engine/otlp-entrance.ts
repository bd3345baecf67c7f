import type { Push, Signal } from "./core/push.ts";
import type { Doorkeeper } from "./doorkeeper.ts";
import type { Answered, OtlpPort } from "./sources/otlp/receiver/receiver.ts";
import type { Telemetry } from "./telemetry/telemetry.ts";

interface OtlpDoorParts {
  doorkeeper: Doorkeeper;
  telemetry: Pick<Telemetry, "exportAnswered">;
}

/** What the OTLP receiver may do: look a pipeline up, store what was pushed. */
export class OtlpEntrance implements OtlpPort {
  readonly #parts: OtlpDoorParts;

  constructor(parts: OtlpDoorParts) {
    this.#parts = parts;
  }

  admits(pipeline_id: string, signal: Signal): "yes" | "unknown" | "other signal" | "over" {
    const { doorkeeper } = this.#parts;
    const types = doorkeeper.sourcesOf(pipeline_id);
    if (!types.some((type) => type.startsWith("otlp."))) return "unknown";
    if (doorkeeper.isOver(pipeline_id)) return "over";
    return types.includes(`otlp.${signal}`) ? "yes" : "other signal";
  }

  store(pipeline_id: string, push: Push): Promise<void> {
    return this.#parts.doorkeeper.store(pipeline_id, push, "otlp-receiver");
  }

  answered({ pipeline_id = "unknown", outcome, ...answered }: Answered): void {
    // A caller may ask for any id: only real ones become labels.
    const refusal = outcome === "stored" ? {} : { refusal: outcome };
    this.#parts.telemetry.exportAnswered({ pipeline_id, ...answered, ...refusal });
  }
}
