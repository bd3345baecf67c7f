import type { Loss, LogRecord } from "./log.ts";

/** A record that consumers could read that read only what is committed. */
export interface TrueRecord {
  topic: string;
  topicId: string;
  partition: number;
  offset: number;
  value: string;
  /**
   * Where it is no longer in the log: why, and up to where each group had committed this partition by then. `isReplaced`: what
   * it had committed may be an offset of other records, that the partition had there before.
   */
  lost?: { by: Loss; committed: ReadonlyMap<string, number>; isReplaced: boolean };
}

/** Where a record is, beside its offset. */
export type Place = Pick<TrueRecord, "topic" | "topicId" | "partition">;

/** Everything that could be read, as a simulation knows it: what consumers have made of it is compared with this. */
export class Truth {
  readonly records: TrueRecord[] = [];
  readonly #byRecord = new Map<LogRecord, TrueRecord>();
  /** Partitions whose log goes on with other records at offsets that it had. */
  readonly #replaced = new Set<string>();

  visible(place: Place, records: readonly LogRecord[]): void {
    for (const record of records) {
      const found: TrueRecord = { ...place, offset: record.offset, value: record.value };
      this.records.push(found);
      this.#byRecord.set(record, found);
    }
  }

  lost(records: readonly LogRecord[], by: Loss, committed: ReadonlyMap<string, number>): void {
    const found = records.flatMap((record) => this.#byRecord.get(record) ?? []);
    for (const record of found) {
      record.lost ??= { by, committed, isReplaced: this.#replaced.has(placeOf(record)) };
    }
    if (by !== "truncation" && by !== "recreation") return;
    for (const record of found) this.#replaced.add(placeOf(record));
  }

  /** Records that must have been read by a group that is done with all there is: those that were not lost before. */
  dueTo(group: string): TrueRecord[] {
    return this.records.filter(({ lost, offset }) => lost === undefined || offset < (lost.committed.get(group) ?? 0));
  }
}

function placeOf({ topic, partition }: TrueRecord): string {
  return `${topic}/${partition}`;
}
