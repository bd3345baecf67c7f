import type { Telemetry } from "../../../telemetry/telemetry.ts";

/** The buffer must be full for this long: shorter times are normal when reading at full speed. */
const leastMs = 1_000;

/** Reports back-pressure: episodes in which fetches stop because the pipeline is slower than the topic. */
export class BackPressure {
  readonly #pipeline_id: string;
  readonly #telemetry: Telemetry;
  #timer: NodeJS.Timeout | undefined;
  /** By the monotonic clock, in milliseconds. */
  #since: number | undefined;

  constructor(pipeline_id: string, telemetry: Telemetry) {
    this.#pipeline_id = pipeline_id;
    this.#telemetry = telemetry;
  }

  /** Notes whether the buffer has room now. */
  look(hasRoom: boolean): void {
    if (hasRoom) this.end();
    else if (this.#since === undefined) this.#timer ??= setTimeout(() => this.#begin(), leastMs).unref();
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#since === undefined) return;
    const seconds = (performance.now() - this.#since) / 1000;
    this.#since = undefined;
    this.#telemetry.backpressure({ pipeline_id: this.#pipeline_id, active: false, seconds });
  }

  #begin(): void {
    this.#timer = undefined;
    this.#since = performance.now() - leastMs;
    this.#telemetry.backpressure({ pipeline_id: this.#pipeline_id, active: true, seconds: 0 });
  }
}
