import { Event } from "../../../event/event.ts";

/** Records in a run: few enough for its arrays to stay in the processor's cache. */
const usualCapacity = 4096;

const nothing: Buffer = Buffer.alloc(0);

/**
 * Where the values of some records of one partition lie, as parallel arrays: an object per record would cost more than
 * everything else together. The arrays are filled anew for each run, so copy the values before the next one.
 *
 *     for (let i = 0; i < run.count; i += 1)
 *       if (run.ends[i] >= 0) at += run.bytes.copy(body, at, run.starts[i], run.ends[i]);
 */
export class RecordRun {
  /** The bytes that hold the values. They are never written again, so they may be kept. */
  bytes = nothing;
  count = 0;
  /** Bytes of all values of the run together. */
  valueBytes = 0;
  /** The leadership in which all of them were written; undefined where it is not known. */
  epoch: number | undefined;
  readonly capacity: number;
  readonly offsets: Float64Array;
  /** Where in `bytes` each value starts. */
  readonly starts: Int32Array;
  /** Where in `bytes` each value ends; -1 if the value is null, a tombstone. */
  readonly ends: Int32Array;

  constructor(capacity: number = usualCapacity) {
    this.capacity = capacity;
    this.offsets = new Float64Array(capacity);
    this.starts = new Int32Array(capacity);
    this.ends = new Int32Array(capacity);
  }

  clear(): void {
    this.bytes = nothing;
    this.count = 0;
    this.valueBytes = 0;
    this.epoch = undefined;
  }
}

/** Records that lie in the same bytes: those of one batch, or of one message of the older formats. */
export interface RunSource {
  readonly bytes: Buffer;
  /** The offset after the last record, even if compaction has removed that record. Valid once `isRead`. */
  readonly nextOffset: number;
  readonly isRead: boolean;
  /**
   * Adds the records at or above `from` to a run of the same bytes, until the run is full or all are read.
   * Throws `Unreadable`, with the records before the broken one added.
   */
  fill(run: RecordRun, from: number): void;
}

/**
 * The records `from` (included) to `to` (excluded) of a run, as events: views of its bytes. Their positions are the
 * offsets, their origin is the topic.
 */
export function eventsOf(
  { bytes, offsets, starts, ends }: RecordRun,
  from: number,
  to: number,
  topic: string,
): Event[] {
  const events: Event[] = [];
  for (let index = from; index < to; index += 1) {
    events.push(new Event(offsets[index]!, 0, bytes, starts[index], ends[index], topic));
  }
  return events;
}
