import type { Feed } from "../../core/positions.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import type { KafkaPositions } from "./positions.ts";

const every = 10_000;

/** How far the pipeline is behind the ends of its partitions, told every ten seconds. */
export class Lag {
  readonly #pipeline_id: string;
  readonly #telemetry: Telemetry;
  readonly #positions: KafkaPositions;
  readonly #onTurn: () => void;
  readonly #ends = new Map<Feed, number>();
  #held: ReadonlySet<Feed> = new Set();
  #timer: NodeJS.Timeout | undefined;

  /** `onTurn` is called every ten seconds. */
  constructor(pipeline_id: string, telemetry: Telemetry, positions: KafkaPositions, onTurn: () => void) {
    this.#pipeline_id = pipeline_id;
    this.#telemetry = telemetry;
    this.#positions = positions;
    this.#onTurn = onTurn;
  }

  /** These partitions are read. */
  held(feeds: ReadonlySet<Feed>): void {
    this.#held = new Set(feeds);
    this.#timer ??= setInterval(() => {
      this.#onTurn();
      this.#tell();
    }, every).unref();
    this.#tell();
  }

  /** The offset behind the last event of a partition that may be read. */
  end(feed: Feed, end: number): void {
    this.#ends.set(feed, end);
  }

  /** What is told last holds while the pipeline is at rest. */
  stop(): void {
    clearInterval(this.#timer);
    if (this.#timer !== undefined) this.#tell();
    this.#timer = undefined;
  }

  #tell(): void {
    let lag = 0;
    for (const feed of this.#held) {
      const final = this.#positions.final(feed) ?? 0;
      lag += Math.max(0, (this.#ends.get(feed) ?? final) - final);
    }
    const unsaid = [...this.#positions.unsaid().values()].reduce((sum, behind) => sum + behind, 0);
    this.#telemetry.lag({ pipeline_id: this.#pipeline_id, partitions: this.#held.size, lag, unsaid });
  }
}
