import type { SourceLag } from "../../../core/counters.ts";
import type { Pause } from "../../../core/pause.ts";
import { overriding } from "../../../telemetry/overriding.ts";
import { mostLagging, oldestOf } from "../positions/lag.ts";
import type { EventOf, Telemetry } from "../../../telemetry/telemetry.ts";

/** What is true of some readers, and since when, by the monotonic clock in milliseconds. */
interface Episode<Value> {
  since: number;
  of: Map<number, Value>;
}

/**
 * The telemetry of one pipeline for several readers: what is said of the pipeline as a whole, such as its lag or a pause, is
 * put together of what each one reports.
 */
export class SharedTelemetry {
  readonly #telemetry: Telemetry;
  readonly #lags: (SourceLag | undefined)[];
  readonly #foreign: string[][];
  readonly #pauses = new Map<Pause["class"], Episode<Pause>>();
  #full: Episode<true> | undefined;

  constructor(telemetry: Telemetry, readers: number) {
    this.#telemetry = telemetry;
    this.#lags = Array.from({ length: readers });
    this.#foreign = Array.from({ length: readers }, () => []);
  }

  /** For the reader of this number from 0. `name`: what a pause says of where it reads. */
  reader(number: number, name: string): Telemetry {
    return overriding(this.#telemetry, {
      lag: (event) => this.#lag(number, name, event),
      foreignMembers: ({ pipeline_id, members }) => {
        this.#foreign[number] = members;
        this.#telemetry.foreignMembers({ pipeline_id, members: this.#foreign.flat() });
      },
      paused: ({ pipeline_id, pause }) =>
        this.#paused(number, pipeline_id, { ...pause, text: `${name}: ${pause.text}` }),
      pauseEnded: (event) => this.#pauseEnded(number, event),
      backpressure: (event) => this.#backpressure(number, event),
    });
  }

  /** The lag of a pipeline is known when that of each reader is. */
  #lag(number: number, cluster: string, { pipeline_id, ...own }: EventOf<"lag">): void {
    this.#lags[number] = placed(own, cluster);
    const known = this.#lags.filter((lag) => lag !== undefined);
    const lags = known.flatMap(({ lag }) => lag ?? []);
    const heldBack = known.flatMap(({ held_back }) => held_back ?? []);
    const oldest = oldestOf(known);
    const partitionLags = known.flatMap(({ by_partition }) => by_partition ?? []);
    const throttling = known.flatMap(({ throttled_by }) => throttled_by ?? []);
    const transactions = known.flatMap((lag) => lag.open_transactions ?? []);
    this.#telemetry.lag({
      pipeline_id,
      partitions: sumOf(known.map(({ partitions }) => partitions)),
      uncommitted: sumOf(known.map(({ uncommitted }) => uncommitted)),
      ...(lags.length === this.#lags.length && { lag: sumOf(lags) }),
      ...(lags.length === this.#lags.length && oldest !== undefined && { lag_seconds: oldest }),
      ...(partitionLags.length > 0 && { by_partition: mostLagging(partitionLags) }),
      ...(heldBack.length === this.#lags.length && { held_back: sumOf(heldBack) }),
      ...(transactions.length > 0 && { open_transactions: transactions }),
      ...(throttling.length > 0 && { throttled_by: throttling }),
    });
  }

  #paused(number: number, pipeline_id: string, pause: Pause): void {
    const episode = this.#pauses.get(pause.class) ?? { since: performance.now(), of: new Map<number, Pause>() };
    this.#pauses.set(pause.class, episode);
    episode.of.set(number, pause);
    this.#telemetry.paused({ pipeline_id, pause });
  }

  /** A pause of one class ends with the last reader that has one; until then another one's is shown. */
  #pauseEnded(number: number, { pipeline_id, class: kind }: EventOf<"pauseEnded">): void {
    const episode = this.#pauses.get(kind);
    if (episode?.of.delete(number) !== true) return;
    const [pause] = episode.of.values();
    if (pause !== undefined) return this.#telemetry.paused({ pipeline_id, pause });
    this.#pauses.delete(kind);
    this.#telemetry.pauseEnded({ pipeline_id, class: kind, seconds: secondsSince(episode) });
  }

  #backpressure(number: number, { pipeline_id, active }: EventOf<"backpressure">): void {
    const episode = (this.#full ??= { since: performance.now(), of: new Map() });
    const before = episode.of.size;
    if (active) episode.of.set(number, true);
    else episode.of.delete(number);
    if (before === 0 && active) this.#telemetry.backpressure({ pipeline_id, active: true, seconds: 0 });
    if (episode.of.size > 0) return;
    this.#full = undefined;
    if (before > 0) this.#telemetry.backpressure({ pipeline_id, active: false, seconds: secondsSince(episode) });
  }
}

/** A lag whose partitions say in which cluster they are. */
function placed({ by_partition, open_transactions, throttled_by, ...lag }: SourceLag, cluster: string): SourceLag {
  return {
    ...lag,
    ...(by_partition && { by_partition: by_partition.map((one) => ({ cluster, ...one })) }),
    ...(throttled_by && { throttled_by: throttled_by.map((one) => ({ cluster, ...one })) }),
    ...(open_transactions && { open_transactions: open_transactions.map((one) => ({ cluster, ...one })) }),
  };
}

function secondsSince({ since }: Episode<unknown>): number {
  return (performance.now() - since) / 1000;
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}
