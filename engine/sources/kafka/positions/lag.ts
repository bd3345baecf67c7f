import type { SourceLag } from "../../../core/counters.ts";
import type { Feed } from "../../../core/positions.ts";
import type { Telemetry } from "../../../telemetry/telemetry.ts";
import { OpenTransactions } from "./open-transactions.ts";
import type { KafkaPositions } from "./positions.ts";

const every = 10_000;

/**
 * The lag of the pipeline: the offsets between its positions and the ends of its partitions. Reported every ten
 * seconds, and as soon as it is known.
 */
export class Lag {
  readonly #pipeline_id: string;
  readonly #telemetry: Telemetry;
  readonly #positions: KafkaPositions;
  readonly #onTurn: () => void;
  readonly #ends = new Map<Feed, number>();
  readonly #transactions = new OpenTransactions();
  #held: ReadonlySet<Feed> = new Set();
  /** The partitions that are counted: those that are assigned, and before the first assignment all. */
  #counted: ReadonlySet<Feed> = new Set();
  #timer: NodeJS.Timeout | undefined;

  /** `onTurn` is called every ten seconds. */
  constructor(pipeline_id: string, telemetry: Telemetry, positions: KafkaPositions, onTurn: () => void) {
    this.#pipeline_id = pipeline_id;
    this.#telemetry = telemetry;
    this.#positions = positions;
    this.#onTurn = onTurn;
  }

  /** The source waits before it may read these partitions: their lag is reported in time, if it is not opened sooner. */
  waits(feeds: readonly Feed[]): void {
    if (this.#timer !== undefined || feeds.length === 0) return;
    this.#counted = new Set(feeds);
    this.#begin();
  }

  /** The next offsets of these partitions are known. None is read yet. */
  opened(feeds: Iterable<Feed>): void {
    this.#count(feeds);
  }

  /** These partitions are read. */
  held(feeds: ReadonlySet<Feed>): void {
    this.#held = new Set(feeds);
    this.#transactions.keep(this.#held);
    this.#count(feeds);
  }

  #count(feeds: Iterable<Feed>): void {
    this.#counted = new Set(feeds);
    this.#begin();
    this.#report();
  }

  #begin(): void {
    this.#timer ??= setInterval(() => {
      this.#onTurn();
      this.#report();
    }, every).unref();
  }

  /** The offset after the last event of a partition that may be read, and the one after the last of all, if that is known. */
  end(feed: Feed, end: number, high?: number): void {
    // A broker that does not know them yet says -1.
    if (end < 0) return;
    if (high === undefined) this.#transactions.sawStable(feed, end);
    else if (high >= 0) this.#transactions.saw(feed, end, high);
    const isNew = this.#counted.has(feed) && !this.#ends.has(feed);
    this.#ends.set(feed, end);
    if (isNew && this.#areEndsKnown) this.#report();
  }

  /** Reports once more: these figures hold until the source is opened again. */
  stop(): void {
    clearInterval(this.#timer);
    this.#transactions.keep(new Set());
    if (this.#timer !== undefined) this.#report();
    this.#timer = undefined;
  }

  get #areEndsKnown(): boolean {
    return [...this.#counted].every((feed) => this.#ends.has(feed));
  }

  #report(): void {
    let lag = 0;
    for (const feed of this.#counted) {
      lag += Math.max(0, (this.#ends.get(feed) ?? 0) - (this.#positions.final(feed) ?? 0));
    }
    // An unknown lag is left out: it is not 0. So is that of no partitions: others are read by nobody, or elsewhere.
    const known = this.#counted.size > 0 && this.#areEndsKnown ? { lag } : {};
    const uncommitted = [...this.#positions.uncommitted().values()].reduce((sum, count) => sum + count, 0);
    this.#telemetry.lag({
      pipeline_id: this.#pipeline_id,
      partitions: this.#held.size,
      uncommitted,
      ...known,
      ...this.#heldBack(),
    });
  }
  #heldBack(): Pick<SourceLag, "held_back" | "open_transactions"> {
    const held_back = this.#counted.size === 0 ? undefined : this.#transactions.countIn(this.#counted);
    const open_transactions = this.#transactions.long();
    return {
      ...(held_back !== undefined && { held_back }),
      ...(open_transactions.length > 0 && { open_transactions }),
    };
  }
}
