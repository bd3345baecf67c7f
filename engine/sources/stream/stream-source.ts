import { Arrivals } from "../../flow/arrivals.ts";
import { retry } from "../../flow/retry.ts";
import type { Chunk, PositionRange } from "../../core/positions.ts";
import { streamFeed } from "../../core/positions.ts";
import { LeftForLater } from "../../core/errors.ts";
import type { SourcePause } from "../../core/pause.ts";
import type { Source, SourceSignals } from "../../core/source.ts";
import type { Run, StreamReader } from "../../core/stream.ts";
import { isPassing, storageError } from "../../state/storage-error.ts";

/** One read of a range takes at most this many events and bytes. */
const readEvents = 10_000;
const readBytes = 8 * 1024 * 1024;

/** Reads pushed events from their durable stream. */
export class StreamSource implements Source {
  readonly keepsReading = true;
  readonly waitsForSettled = false;
  readonly #reader: StreamReader;
  /** The next position that no batch holds yet. */
  #position: number;
  #end: number;
  #lastToRead = Infinity;
  readonly #arrivals = new Arrivals();
  readonly #pause: SourcePause;
  #signals: SourceSignals | undefined;

  /**
   * `end` is the newest durable sequence at the start, `position` the first one that no batch holds yet. `pause` is the
   * pause while the stream cannot be read.
   */
  constructor(reader: StreamReader, end: number, position: number, pause: SourcePause) {
    this.#reader = reader;
    this.#pause = pause;
    this.#end = end;
    this.#position = position;
  }

  open(signals: SourceSignals): Promise<number[]> {
    this.#signals = signals;
    return Promise.resolve([]);
  }

  begin(): Promise<void> {
    return Promise.resolve();
  }

  /** Always: the stream is in the data dir, which this process keeps locked even while it is frozen. */
  mayWrite(): Promise<void> {
    return Promise.resolve();
  }

  /** Call it when events up to `end` are durable. */
  arrived(end: number): void {
    if (end <= this.#end) return;
    this.#end = end;
    this.#reader.advance(end);
    this.#arrivals.came();
  }

  async next(limit: number, maxBytes: number): Promise<Chunk[]> {
    if (this.#position > this.#lastToRead) return [];
    // The read may miss events that arrive during it.
    const end = this.#end;
    const runs = await this.#read(this.#position, limit, maxBytes);
    const chunks = chunksUpTo(this.#lastToRead, runs);
    // If the stream has no events up to its end, they were removed: the next one comes after it.
    const read = chunks.at(-1)?.last ?? (runs.length === 0 ? end : 0);
    this.#position = Math.max(this.#position, read + 1);
    return chunks;
  }

  async *again(ranges: readonly PositionRange[]): AsyncGenerator<Chunk> {
    for (const { first, last: end } of ranges) {
      for (let position = first; position <= end;) {
        const chunks = chunksUpTo(end, await this.#read(position, readEvents, readBytes));
        if (chunks.length === 0) break;
        yield* chunks;
        position = chunks.at(-1)!.last + 1;
      }
    }
  }

  mayHaveCompacted(): Promise<boolean> {
    return Promise.resolve(false);
  }

  wait(count: number, until: number | undefined, signal: AbortSignal): Promise<void> {
    const position = this.#position + count - 1;
    return this.#arrivals.wait(() => position <= this.#end, until, signal);
  }

  /** The stream is trimmed by the process that owns it. */
  acknowledge(): void {}

  drain(): void {
    this.#lastToRead = this.#end;
  }

  async close(): Promise<void> {
    this.#pause.leave();
    await this.#reader.close();
  }

  /** Reads the stream. A transient error, such as too many open files, is a pause; damage is thrown. */
  #read(position: number, limit: number, maxBytes: number): Promise<Run[]> {
    const readOnce = async (): Promise<Run[]> => {
      const runs = await this.#reader.read(position, limit, maxBytes);
      this.#pause.leave();
      return runs;
    };
    return retry(readOnce, async (error, attempt) => {
      const failure = storageError(error);
      if (!isPassing(failure)) throw error;
      await this.#wait(failure.message, attempt);
    });
  }

  async #wait(text: string, attempt: number): Promise<void> {
    const { leave, drain } = this.#signals ?? {};
    // A drain does not wait in a pause: unread events stay in the stream.
    if (drain?.aborted !== true) await this.#pause.wait({ class: "disk", text }, attempt, drain ?? neverAborted);
    if (leave?.aborted === true || drain?.aborted === true) throw new LeftForLater(text);
  }
}

const neverAborted = new AbortController().signal;

/** A chunk for each run, without the events after the position `end`. */
function chunksUpTo(end: number, runs: readonly Run[]): Chunk[] {
  return runs.flatMap(({ events }) => {
    const isWhole = events.at(-1)!.position <= end;
    const kept = isWhole ? events : events.filter(({ position }) => position <= end);
    const last = kept.at(-1)?.position;
    return last === undefined ? [] : [{ feed: streamFeed, events: kept, last }];
  });
}
