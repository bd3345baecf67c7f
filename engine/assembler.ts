import { durationMs } from "../schemas/duration.ts";
import { Event } from "./core/batch.ts";
import type { BatchRecord } from "./core/journal.ts";
import type { Source } from "./core/source.ts";
import { Assembly, type AssemblyPlan, type Line } from "./line.ts";
import type { JudgedAgain } from "./repeats.ts";
import { LeftForLater } from "./settlement.ts";
import type { Telemetry } from "./telemetry/telemetry.ts";

/** One read takes at most this many events and bytes; one batch reads at most so much, however much a filter drops. */
const readEvents = 10_000;
const readBytes = 8 * 1024 * 1024;
const batchEvents = 500_000;
const batchBytes = 64 * 1024 * 1024;

export interface AssemblerParts {
  pipeline_id: string;
  source: Source;
  telemetry: Telemetry;
  /** Rows of a full batch, and the canonical duration that a batch may wait to be full. */
  limits: { max_batch_size: number; max_delay_time: string };
  /** Milliseconds after which an event that was not written is given up. */
  maxAge: number;
  clock: Clock;
  /** The dead letters that batches under way name. */
  letters: readonly LetterEvent[];
  /** Aborts when the pipeline leaves at once. */
  leave: AbortSignal;
  /** Aborts when the pipeline drains, or leaves. */
  drain: AbortSignal;
}

/** The batch clock. */
export interface Clock {
  now(): number;
  /** The earlier of `now` and the wall clock, by which events are stamped when they come. */
  earlier(): number;
}

/** A dead letter as it goes through the pipeline again: its number stands for its position. */
export interface LetterEvent {
  number: number;
  /** The event as the source received it. */
  text: string;
}

/** Reads the source, in order, and puts batches together: new ones, and those of a record again. */
export class Assembler {
  readonly #parts: AssemblerParts;
  readonly #delay: number;
  readonly #letters: Map<number, LetterEvent>;
  #position: number;
  #lastToRead = Infinity;
  /** Rows of a full batch, less after the server had too little memory for one. */
  #rows: number;

  /** `position` is the first one that no batch holds yet. */
  constructor(parts: AssemblerParts, position: number) {
    this.#parts = parts;
    this.#position = position;
    this.#delay = durationMs(parts.limits.max_delay_time);
    this.#rows = parts.limits.max_batch_size;
    this.#letters = new Map(parts.letters.map((letter) => [letter.number, letter]));
  }

  /** The server had too little memory for a batch: later ones are half as large. */
  shrink(): void {
    this.#rows = Math.max(1, Math.floor(this.#rows / 2));
  }

  /** A batch went in: later ones may be larger again, up to what is configured. */
  grow(): void {
    this.#rows = Math.min(this.#parts.limits.max_batch_size, Math.ceil(this.#rows * 1.1));
  }

  /** From now on it reads no further than what the source holds now. */
  drain(): void {
    this.#lastToRead = this.#parts.source.end;
  }

  /** The next batch: full, or its oldest event as old as the delay allows. Undefined when a drain has nothing left. */
  async next(line: Line, drawNumber: () => number): Promise<Assembly | undefined> {
    const { source, pipeline_id, telemetry, clock, drain } = this.#parts;
    const rows = this.#rows;
    // Its time begins with its first event, however long that was waited for.
    let assembly: Assembly | undefined;
    let due: number | undefined;
    /** What was there when the batch was due; it waits for nothing behind that. */
    let end: number | undefined;
    while (!isFull(assembly, rows) && (end === undefined || this.#position <= end)) {
      if (this.#parts.leave.aborted) throw new LeftForLater("the pipeline leaves");
      const missing = rows - (assembly?.rows ?? 0);
      const events = await this.#read(missing);
      if (events.length > 0) {
        assembly ??= this.#begin(line, { clock: clock.now(), batch: drawNumber() });
        assembly.add(events);
        due ??= Date.now() + this.#delay;
      }
      if (events.length === 0 && drain.aborted) break;
      if (due !== undefined && Date.now() >= due) end ??= source.end;
      else if (events.length > 0) continue;
      // Once a batch has begun, there is nothing to do before it can be full or is due.
      else await source.wait(this.#position + (due === undefined ? 0 : missing - 1), due, drain);
    }
    if (assembly === undefined) return undefined;
    if (assembly.aged > 0) telemetry.agedOut({ pipeline_id, count: assembly.aged });
    telemetry.eventsRead({ pipeline_id, count: assembly.count, bytes: assembly.bytes });
    return assembly;
  }

  /** Reads exactly the recorded range, or its letters, and puts the batch together again as `plan` says. */
  async again(record: BatchRecord, line: Line, plan: Partial<AssemblyPlan>): Promise<Assembly> {
    const { range, letters, clock, batch, oldest } = record;
    const assembly = this.#begin(line, { clock, batch, oldest, ...plan });
    if (letters !== undefined) {
      assembly.add(letters.map((number) => this.#letter(number, clock)));
      return assembly;
    }
    let position = range.first;
    while (position <= range.last) {
      const events = await this.#parts.source.read(position, readEvents, readBytes);
      const inside = events.filter((event) => event.position <= range.last);
      if (inside.length === 0) break;
      assembly.add(inside);
      position = inside.at(-1)!.position + 1;
    }
    return assembly;
  }

  /** Puts dead letters together, to be sent once more. */
  ofLetters(letters: readonly LetterEvent[], line: Line, batch: number): Assembly {
    const clock = this.#parts.clock.now();
    for (const letter of letters) this.#letters.set(letter.number, letter);
    const assembly = this.#begin(line, { clock, batch });
    assembly.add(letters.map(({ number }) => this.#letter(number, clock)));
    return assembly;
  }

  /** Puts events together that were judged again: `firsts` become rows, if they can, the others wait for them. */
  judged(events: readonly Event[], line: Line, { batch, clock, firsts, waiting }: JudgedAgain): Assembly {
    const assembly = this.#begin(line, { clock, batch, only: new Set(firsts), waiting });
    assembly.add(events);
    return assembly;
  }

  /** Letters that are settled. */
  forget(letters: readonly number[]): void {
    for (const number of letters) this.#letters.delete(number);
  }

  #begin(line: Line, plan: Omit<AssemblyPlan, "oldest"> & { oldest?: number }): Assembly {
    const { maxAge, clock, pipeline_id, telemetry } = this.#parts;
    // Infinitely old is never too old.
    const oldest = Math.max(0, clock.earlier() - maxAge);
    return new Assembly(line, { oldest, ...plan }, pipeline_id, telemetry);
  }

  #letter(number: number, receivedAt: number): Event {
    const text = this.#letters.get(number)?.text ?? "";
    return new Event(number, receivedAt, Buffer.from(text));
  }

  async #read(rows: number): Promise<Awaited<ReturnType<Source["read"]>>> {
    if (this.#position > this.#lastToRead) return [];
    const read = await this.#parts.source.read(this.#position, Math.min(rows, readEvents), readBytes);
    const events = read.filter(({ position }) => position <= this.#lastToRead);
    this.#position = (events.at(-1)?.position ?? this.#position - 1) + 1;
    return events;
  }
}

function isFull(assembly: Assembly | undefined, rows: number): boolean {
  if (assembly === undefined) return false;
  const bytes = Math.max(assembly.bytes, assembly.bytesMade);
  return assembly.rows >= rows || assembly.count >= batchEvents || bytes >= batchBytes;
}
