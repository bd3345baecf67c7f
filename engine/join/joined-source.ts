import { Arrivals } from "../flow/arrivals.ts";
import { retry } from "../flow/retry.ts";
import { LeftForLater } from "../core/errors.ts";
import type { SourcePause } from "../core/pause.ts";
import { joinFeed, type Chunk, type PositionRange } from "../core/positions.ts";
import type { Source, SourceSignals } from "../core/source.ts";
import { Event } from "../event/event.ts";
import { isPassing, storageError } from "../state/storage-error.ts";
import type { Rows } from "./unsettled-rows.ts";
import type { TemporalJoin } from "./temporal-join.ts";

/** The origin of the rows of a join, which no topic and no signal is called. */
export const joinedOrigin = "join:";

/** One read of a range takes at most this many rows. */
const readRows = 10_000;

export interface JoinedSourceOptions {
  /** Opens the join. What passes is tried again. */
  open: () => Promise<TemporalJoin>;
  /** The first row that no batch holds yet. */
  next: number;
  /** The last row that is settled. */
  settled: number;
  pause: SourcePause;
  /** Rows were settled. */
  onSettled: () => void;
}

/** Reads the rows of a join, which go to the table like events of any other source. */
export class JoinedSource implements Source {
  readonly keepsReading = true;
  readonly waitsForSettled = false;
  readonly #options: JoinedSourceOptions;
  readonly #arrivals = new Arrivals();
  #join: TemporalJoin | undefined;
  #position: number;
  #signals: SourceSignals | undefined;

  constructor(options: JoinedSourceOptions) {
    this.#options = options;
    this.#position = options.next;
  }

  async open(signals: SourceSignals): Promise<number[]> {
    this.#signals = signals;
    const join = await this.#retried(this.#options.open);
    this.#join = join;
    join.trim(this.#options.settled);
    return [];
  }

  begin(): Promise<void> {
    return Promise.resolve();
  }

  /** Always: the log is in the data dir, which this process keeps locked even while it is frozen. */
  mayWrite(): Promise<void> {
    return Promise.resolve();
  }

  /** Call it when there are new rows. */
  arrived(): void {
    this.#arrivals.came();
  }

  async next(limit: number, maxBytes: number): Promise<Chunk[]> {
    const chunks = await this.#chunks(this.#position, this.#join!.lastRow, limit, maxBytes);
    const last = chunks.at(-1)?.last;
    if (last === undefined) return [];
    this.#position = last + 1;
    this.#join!.passed(last);
    return chunks;
  }

  wait(count: number, until: number | undefined, signal: AbortSignal): Promise<void> {
    const join = this.#join!;
    const isThere = (): boolean => join.firstRowFrom(this.#position) + count - 1 <= join.lastRow;
    return this.#arrivals.wait(isThere, until, signal);
  }

  async *again(ranges: readonly PositionRange[]): AsyncGenerator<Chunk> {
    for (const { first, last } of ranges) {
      for (let position = first; position <= last;) {
        const chunks = await this.#chunks(position, last, readRows, Infinity);
        if (chunks.length === 0) break;
        yield* chunks;
        position = chunks.at(-1)!.last + 1;
      }
    }
  }

  mayHaveCompacted(): Promise<boolean> {
    return Promise.resolve(false);
  }

  acknowledge(ranges: readonly PositionRange[]): void {
    for (const { feed, last } of ranges) if (feed === joinFeed) this.#join?.trim(last);
    this.#options.onSettled();
  }

  /** No rows come any more: what is there is read to its end. */
  drain(): void {
    this.#arrivals.came();
  }

  close(): Promise<void> {
    this.#options.pause.leave();
    return Promise.resolve();
  }

  /** The rows from one position up to another. What fails for a while is a pause; damage is thrown. */
  async #chunks(from: number, to: number, limit: number, maxBytes: number): Promise<Chunk[]> {
    const chunks: Chunk[] = [];
    let [count, bytes, at] = [0, 0, from];
    while (at <= to && count < limit && bytes < maxBytes) {
      const rows = await this.#read(at);
      if (rows === undefined || rows.first > to) break;
      const chunk = chunkOf(rows, Math.max(at, rows.first), Math.min(to, at + limit - count - 1));
      if (chunk.events.length === 0) break;
      chunks.push(chunk);
      count += chunk.events.length;
      bytes += chunk.events.reduce((sum, { size }) => sum + size, 0);
      at = chunk.last + 1;
    }
    return chunks;
  }

  #read(position: number): Promise<Rows | undefined> {
    return this.#retried(() => this.#join!.rowsFrom(position));
  }

  /** Repeats what fails for a while, which is a pause. A drain does not wait in one: the rows stay in the log. */
  #retried<Result>(work: () => Promise<Result>): Promise<Result> {
    const { pause } = this.#options;
    const { drain } = this.#signals!;
    const once = async (): Promise<Result> => {
      const result = await work();
      pause.leave();
      return result;
    };
    return retry(once, async (error, attempt) => {
      const failure = storageError(error);
      if (!isPassing(failure)) throw error;
      if (!drain.aborted) await pause.wait({ class: "disk", text: failure.message }, attempt, drain);
      if (drain.aborted) throw new LeftForLater(failure.message);
    });
  }
}

function chunkOf({ first, clock, places, bytes }: Rows, from: number, to: number): Chunk {
  const events: Event[] = [];
  const end = Math.min(to, first + places.length - 2);
  for (let position = from; position <= end; position += 1) {
    const index = position - first;
    events.push(new Event(position, clock, bytes, places[index], places[index + 1], joinedOrigin));
  }
  return { feed: joinFeed, events, last: end };
}
