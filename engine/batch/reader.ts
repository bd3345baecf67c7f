import { durationMs } from "../../schemas/duration.ts";
import { Event } from "../event/event.ts";
import { rangesOf, type BatchRecord, type WaitingDrop } from "../core/journal.ts";
import type { Place } from "../core/positions.ts";
import type { Source } from "../core/source.ts";
import { BatchBuilder, type BatchPlan } from "./builder.ts";
import { CarefulReading, takeAgain } from "./careful-reading.ts";
import type { CompiledPipeline } from "./compiled-pipeline.ts";
import { LeftForLater } from "../core/errors.ts";
import { nextTurn } from "../flow/next-turn.ts";
import { sleep } from "../flow/sleep.ts";
import { type Holding, unnoted } from "../flow/thread-hold.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { LetterEvent } from "../core/dead-letter.ts";

/** One read takes at most this many events and bytes; one batch reads at most so much, however much a filter drops. */
const readEvents = 10_000;
const readBytes = 8 * 1024 * 1024;
const batchEvents = 500_000;
const batchBytes = 128 * 1024 * 1024;
/** A batch with so many bytes of dead letters takes no more events: a batch is what a pipeline adds beyond a bound. */
const batchLetterBytes = 4 * 1024 * 1024;

export interface BatchReaderOptions {
  pipeline_id: string;
  source: Source;
  telemetry: Telemetry;
  /** Rows of a full batch, and the canonical duration that a batch may wait to be full. */
  limits: { max_batch_size: number; max_delay_time: string };
  /** Events older than this, in milliseconds, are not written any more. */
  maxAge: number;
  clock: Clock;
  /** The dead letters that pending batches are made of. */
  letters: readonly LetterEvent[];
  /** How events are added to a batch. Default: not careful. */
  reading?: CarefulReading;
  /** Notes what keeps the thread from other pipelines. Default: nobody looks. */
  holding?: Holding;
  /** Whether other pipelines run in the thread. Default: none does. */
  hasNeighbours?: () => boolean;
  /** Aborts when the pipeline leaves at once. */
  leave: AbortSignal;
  /** Aborts when the pipeline drains, or leaves. */
  drain: AbortSignal;
}

/** After so many milliseconds of work without a pause the other pipelines of the thread have their turn. */
const longestTurn = 20;
/**
 * After work of so many milliseconds at once, such as to unpack a large batch, it rests for half as long where it has neighbours: an
 * event of theirs takes several turns until it is a row.
 */
const longestStep = 150;

/** The batch clock. */
export interface Clock {
  now(): number;
  /** The earlier of `now` and the wall clock, which stamps events when they are received. */
  earlier(): number;
}

/** Reads the source, in order, and builds batches: new ones, and those of a record again. */
export class BatchReader {
  readonly #parts: BatchReaderOptions;
  readonly #delay: number;
  readonly #letters: Map<number, LetterEvent>;
  readonly #reading: CarefulReading;
  readonly #holding: Holding;
  /** Milliseconds of work since the other pipelines of the thread had their turn. */
  #worked = 0;
  /** Rows of a full batch, less after the server had too little memory for one. */
  #rows: number;

  constructor(parts: BatchReaderOptions) {
    this.#parts = parts;
    this.#delay = durationMs(parts.limits.max_delay_time);
    this.#rows = parts.limits.max_batch_size;
    this.#reading = parts.reading ?? new CarefulReading(undefined, () => undefined);
    this.#holding = parts.holding ?? unnoted;
    this.#letters = new Map(parts.letters.map((letter) => [letter.number, letter]));
  }

  /** The server had too little memory for a batch: later batches are half as large. */
  shrink(): void {
    this.#rows = Math.max(1, Math.floor(this.#rows / 2));
  }

  /** A batch was written: later batches may be larger again, up to the configured size. */
  grow(): void {
    this.#rows = Math.min(this.#parts.limits.max_batch_size, Math.ceil(this.#rows * 1.1));
  }

  /**
   * The next batch: full, or its oldest event as old as the delay allows. Undefined when a drain has nothing left; a
   * batch that was begun and is given up then is `dropped`.
   */
  async next(
    compiled: CompiledPipeline,
    drawNumber: () => number,
    dropped: (batch: number) => void,
  ): Promise<BatchBuilder | undefined> {
    const { source, pipeline_id, telemetry, clock, drain } = this.#parts;
    const most = this.#reading.mostEvents;
    const rows = Math.min(this.#rows, most);
    // The delay counts from its first event, not from the wait for it.
    let builder: BatchBuilder | undefined;
    let due = Infinity;
    let seconds = 0;
    for (let isDue = false; !isFull(builder, rows, most) && !isDue;) {
      if (this.#parts.leave.aborted) throw new LeftForLater("the pipeline leaves");
      // When it is due it takes the events that are there, and waits for no more.
      isDue = performance.now() >= due;
      const missing = rows - (builder?.rows ?? 0);
      const started = performance.now();
      const chunks = await this.#work(() => source.next(Math.min(missing, readEvents), readBytes));
      // Nothing was read where it only looked.
      if (chunks.length > 0) {
        seconds += (performance.now() - started) / 1000;
        const into = builder ?? this.#begin(compiled, { clock: clock.now(), batch: drawNumber() });
        builder = into;
        this.#work(() => {
          for (const chunk of chunks) this.#reading.take(into, chunk);
        });
        if (due === Infinity) due = performance.now() + this.#delay;
        if (this.#worked > longestTurn) await this.#rest();
        continue;
      }
      if (drain.aborted) break;
      // A batch that has begun waits until it can be full or is due.
      if (due === Infinity) await source.wait(1, undefined, drain);
      else if (!isDue) await source.wait(missing, due, drain);
    }
    if (builder === undefined) return undefined;
    if (drain.aborted && !source.keepsReading) {
      dropped(builder.plan.batch);
      return undefined;
    }
    if (builder.aged > 0) telemetry.agedOut({ pipeline_id, count: builder.aged });
    const { events: ingested, bytes, seconds: checking } = builder.ingested;
    telemetry.eventsRead({ pipeline_id, count: builder.count, bytes, ingested, seconds: seconds + checking });
    return builder;
  }

  /** Reads exactly the events of a record, and builds its batch again as `plan` says. */
  async again(record: BatchRecord, compiled: CompiledPipeline, plan: Partial<BatchPlan>): Promise<BatchBuilder> {
    const { madeOf, clock, batch, oldest } = record;
    const ranges = rangesOf(record);
    const builder = this.#begin(compiled, { clock, batch, oldest, ranges, ...plan });
    if (madeOf.kind === "letters") {
      builder.add(madeOf.numbers.map((number) => this.#letter(number, clock)));
      return builder;
    }
    for await (const chunk of this.#parts.source.again(ranges)) {
      this.#work(() => takeAgain(builder, chunk, record));
      if (this.#worked > longestTurn) await this.#rest();
    }
    return builder;
  }

  /** Builds a batch of dead letters, to be sent once more. */
  ofLetters(letters: readonly LetterEvent[], compiled: CompiledPipeline, batch: number): BatchBuilder {
    const clock = this.#parts.clock.now();
    for (const letter of letters) this.#letters.set(letter.number, letter);
    const builder = this.#begin(compiled, { clock, batch });
    builder.add(letters.map(({ number }) => this.#letter(number, clock)));
    return builder;
  }

  /** Builds a batch of released duplicates: `firsts` become rows or dead letters, and the others wait for them. */
  released(
    events: readonly Event[],
    compiled: CompiledPipeline,
    { batch, clock, firsts, waiting }: Released,
  ): BatchBuilder {
    const builder = this.#begin(compiled, { clock, batch, only: new Set(firsts), waiting });
    builder.add(events);
    return builder;
  }

  /** Drops the events of settled letters. */
  forget(letters: readonly number[]): void {
    for (const number of letters) this.#letters.delete(number);
  }

  #work<Result>(work: () => Result): Result {
    const began = performance.now();
    const result = this.#holding(work);
    this.#worked += performance.now() - began;
    return result;
  }

  /** The other pipelines of the thread have their turn. */
  async #rest(): Promise<void> {
    const worked = this.#worked;
    this.#worked = 0;
    if (worked > longestStep && this.#parts.hasNeighbours?.() === true) await sleep(worked / 2, this.#parts.leave);
    else await nextTurn();
  }

  #begin(compiled: CompiledPipeline, plan: Omit<BatchPlan, "oldest"> & { oldest?: number }): BatchBuilder {
    const { maxAge, clock, pipeline_id, telemetry } = this.#parts;
    // With an infinite `maxAge` no event is too old.
    const oldest = Math.max(0, clock.earlier() - maxAge);
    return new BatchBuilder(compiled, { oldest, ...plan }, pipeline_id, telemetry);
  }

  #letter(number: number, receivedAt: number): Event {
    const { text = "", encoding = "utf8", origin } = this.#letters.get(number) ?? {};
    const bytes = Buffer.from(text, encoding);
    return new Event(number, receivedAt, bytes, 0, bytes.length, origin);
  }
}

function isFull(builder: BatchBuilder | undefined, rows: number, events: number): boolean {
  if (builder === undefined) return false;
  const bytes = Math.max(builder.bytes, builder.bytesMade);
  if (builder.rejectedBytes >= batchLetterBytes) return true;
  return builder.rows >= rows || builder.count >= Math.min(events, batchEvents) || bytes >= batchBytes;
}

/** Duplicates that were released, since their original was rejected. They become a batch of their own. */
export interface Released {
  /** The number of that batch. */
  batch: number;
  clock: number;
  /** Those that become rows: their keys are reserved for that batch. */
  firsts: Place[];
  /** The duplicates of `firsts`, which wait for that batch. */
  waiting: WaitingDrop[];
}
