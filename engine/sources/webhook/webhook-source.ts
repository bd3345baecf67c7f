import { Arrivals } from "../../core/arrivals.ts";
import type { Chunk, PositionRange } from "../../core/positions.ts";
import { streamFeed } from "../../core/positions.ts";
import type { Source } from "../../core/source.ts";
import type { StreamReader } from "../../core/stream.ts";

/** One read of a range takes at most this many events and bytes. */
const readEvents = 10_000;
const readBytes = 8 * 1024 * 1024;

/** Events that were pushed: a reader of their durable stream, and word of what came in since. */
export class WebhookSource implements Source {
  readonly keepsReading = true;
  readonly waitsForSettled = false;
  readonly #reader: StreamReader;
  /** The next position that no batch holds yet. */
  #position: number;
  #end: number;
  #lastToRead = Infinity;
  readonly #arrivals = new Arrivals();

  /** `end` is the newest durable sequence at the start, `position` the first one that no batch holds yet. */
  constructor(reader: StreamReader, end: number, position: number) {
    this.#reader = reader;
    this.#end = end;
    this.#position = position;
  }

  open(): Promise<number[]> {
    return Promise.resolve([]);
  }

  begin(): Promise<void> {
    return Promise.resolve();
  }

  /** Tells that events up to `end` are durable. */
  arrived(end: number): void {
    if (end <= this.#end) return;
    this.#end = end;
    this.#reader.advance(end);
    this.#arrivals.came();
  }

  async next(limit: number, maxBytes: number): Promise<Chunk[]> {
    if (this.#position > this.#lastToRead) return [];
    const read = await this.#reader.read(this.#position, limit, maxBytes);
    const events = read.filter(({ position }) => position <= this.#lastToRead);
    const last = events.at(-1)?.position;
    if (last === undefined) return [];
    this.#position = last + 1;
    return [{ feed: streamFeed, events, last }];
  }

  async *again(ranges: readonly PositionRange[]): AsyncGenerator<Chunk> {
    for (const { first, last: end } of ranges) {
      for (let position = first; position <= end;) {
        const read = await this.#reader.read(position, readEvents, readBytes);
        const events = read.filter((event) => event.position <= end);
        const last = events.at(-1)?.position;
        if (last === undefined) break;
        yield { feed: streamFeed, events, last };
        position = last + 1;
      }
    }
  }

  stillHolds(): Promise<boolean> {
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

  close(): Promise<void> {
    return this.#reader.close();
  }
}
