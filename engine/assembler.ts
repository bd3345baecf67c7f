import { durationMs } from "../schemas/duration.ts";
import { Event } from "./core/batch.ts";
import type { BatchRecord } from "./core/journal.ts";
import type { Source } from "./core/source.ts";
import { Assembly, type Line } from "./line.ts";
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
  /** Aborts when the pipeline leaves at once. */
  leave: AbortSignal;
  /** Aborts when the pipeline drains, or leaves. */
  drain: AbortSignal;
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
  #position: number;
  #lastToRead = Infinity;

  /** `position` is the first one that no batch holds yet. */
  constructor(parts: AssemblerParts, position: number) {
    this.#parts = parts;
    this.#position = position;
    this.#delay = durationMs(parts.limits.max_delay_time);
  }

  /** From now on it reads no further than what the source holds now. */
  drain(): void {
    this.#lastToRead = this.#parts.source.end;
  }

  /** The next batch: full, or its oldest event as old as the delay allows. Undefined when a drain has nothing left. */
  async next(line: Line): Promise<Assembly | undefined> {
    const { source, pipeline_id, telemetry, limits, drain } = this.#parts;
    const assembly = this.#begin(line, Date.now());
    let due: number | undefined;
    /** What was there when the batch was due; it waits for nothing behind that. */
    let end: number | undefined;
    while (!isFull(assembly, limits.max_batch_size) && (end === undefined || this.#position <= end)) {
      if (this.#parts.leave.aborted) throw new LeftForLater("the pipeline leaves");
      const missing = limits.max_batch_size - assembly.rows;
      const events = await this.#read(missing);
      if (events.length > 0) {
        assembly.add(events);
        due ??= Date.now() + this.#delay;
      }
      if (events.length === 0 && drain.aborted) break;
      if (due !== undefined && Date.now() >= due) end ??= source.end;
      else if (events.length > 0) continue;
      // Once a batch has begun, there is nothing to do before it can be full or is due.
      else await source.wait(this.#position + (due === undefined ? 0 : missing - 1), due, drain);
    }
    if (assembly.count === 0) return undefined;
    if (assembly.aged > 0) telemetry.agedOut({ pipeline_id, count: assembly.aged });
    telemetry.eventsRead({ pipeline_id, count: assembly.count, bytes: assembly.bytes });
    return assembly;
  }

  /** Reads exactly the recorded range and transforms it by `line`, at the recorded time. */
  async again({ range, clock }: BatchRecord, line: Line): Promise<Assembly> {
    const assembly = this.#begin(line, clock);
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
  ofLetters(letters: readonly LetterEvent[], line: Line, clock = Date.now()): Assembly {
    const assembly = this.#begin(line, clock);
    assembly.add(letters.map(({ number, text }) => new Event(number, clock, Buffer.from(text))));
    return assembly;
  }

  #begin(line: Line, clock: number): Assembly {
    const { maxAge, pipeline_id, telemetry } = this.#parts;
    return new Assembly(line, clock, maxAge, pipeline_id, telemetry);
  }

  async #read(rows: number): Promise<Awaited<ReturnType<Source["read"]>>> {
    if (this.#position > this.#lastToRead) return [];
    const read = await this.#parts.source.read(this.#position, Math.min(rows, readEvents), readBytes);
    const events = read.filter(({ position }) => position <= this.#lastToRead);
    this.#position = (events.at(-1)?.position ?? this.#position - 1) + 1;
    return events;
  }
}

function isFull(assembly: Assembly, rows: number): boolean {
  const bytes = Math.max(assembly.bytes, assembly.bytesMade);
  return assembly.rows >= rows || assembly.count >= batchEvents || bytes >= batchBytes;
}
