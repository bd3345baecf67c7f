import { randomBytes } from "node:crypto";
import {
  deadPositions,
  holdsPositions,
  lastWritten,
  lettersOf,
  rangesOf,
  type BatchRecord,
  type FinalKeys,
  type Journal,
  type Progress,
} from "../core/journal.ts";
import { letterBytes, type Rejection } from "../core/dead-letter.ts";
import { diskReserve } from "../core/disk.ts";
import { EngineError } from "../core/errors.ts";
import { joinFeed, offsetAt, streamFeed, type PositionRange, type RewoundPartition } from "../core/positions.ts";
import type { DeadLetters, LetterAmount } from "./dead-letters.ts";
import { recordOf, storedRecord, type StoredRecord } from "./journal-formats.ts";
import { KeyBlocks } from "./key-blocks.ts";
import { pageFill, recordBytes } from "./record-bytes.ts";
import type { Table, TableStore } from "../core/store.ts";

type Key = [pipeline_id: string, batch: number];

/** What is often read of pending batches, in memory: this process is the only writer. */
interface Pending {
  ranges: readonly PositionRange[];
  letters: readonly number[];
  revision: number;
  clock: number;
  /** The batches that its duplicates wait for. */
  waitsFor: readonly number[];
  /** The dead letters that its commit adds. */
  rejected: LetterAmount;
}

/** Dead letters of a batch that take less than this, in bytes, need no more room on the disk than its other data. */
const fewLetters = 1024 * 1024;

const nothingYet: Progress = { positions: {}, batch: 0, clock: 0 };

/**
 * The journal in the process's one store. A commit is one transaction over the record, the position, the keys and the
 * dead letters, so that an event is always either pending or settled.
 */
export class StoreJournal implements Journal {
  readonly #store: TableStore;
  readonly #letters: DeadLetters;
  readonly #keys: KeyBlocks;
  readonly #records: Table<StoredRecord, Key>;
  readonly #progress: Table<Progress, string>;
  readonly #pending = new Map<string, Map<number, Pending>>();

  constructor(store: TableStore, letters: DeadLetters) {
    this.#store = store;
    this.#letters = letters;
    this.#keys = new KeyBlocks(store);
    this.#records = store.table("journal");
    this.#progress = store.table("progress");
    for (const { value } of this.#records.getRange()) this.#note(recordOf(value, []));
  }

  async prepare(record: BatchRecord): Promise<void> {
    const bytes = recordBytes(record);
    const { pipeline_id, batch, madeOf } = record;
    const isNew = this.#pending.get(pipeline_id)?.has(batch) !== true;
    if (isNew && madeOf.kind === "source") this.#letters.checkRoom(pipeline_id, this.#rejected(pipeline_id));
    this.#store.checkRoom(bytes);
    const rejected = amountOf(record.rejections);
    this.#checkRoomForLetters(record, rejected);
    await this.#store.write(() => this.#prepareInWrite(record), bytes);
    this.#note(record, rejected);
  }

  async amend(record: BatchRecord): Promise<void> {
    const { pipeline_id, batch } = record;
    const rejected = amountOf(record.rejections);
    this.#checkRoomForLetters(record, rejected);
    await this.#store.write(
      () => {
        if (this.#has(record)) this.#records.putSync([pipeline_id, batch], storedRecord(record));
      },
      recordBytes({ ...record, keys: [] }),
    );
    const pending = this.#pending.get(pipeline_id)?.get(batch);
    if (pending !== undefined) pending.rejected = rejected;
  }

  async commit(record: BatchRecord, released?: BatchRecord): Promise<void> {
    const bytes = recordBytes(record) + (released === undefined ? 0 : recordBytes(released));
    await this.#store.write(() => this.#commitInWrite(record, released), bytes);
    this.#pending.get(record.pipeline_id)?.delete(record.batch);
    if (released !== undefined) this.#note(released);
  }

  async place(...[pipeline_id, positions, options = {}]: Parameters<Journal["place"]>): Promise<void> {
    const { isMove = false, notes } = options;
    await this.#store.write(() => {
      const progress = { ...this.progress(pipeline_id), ...(notes === undefined ? {} : { notes }) };
      const waits = isMove && this.#hasPending(pipeline_id);
      const key = waits ? "moved" : "positions";
      const changed = Object.keys(positions).length === 0 ? {} : { [key]: { ...progress[key], ...positions } };
      this.#progress.putSync(pipeline_id, { ...progress, ...changed });
    });
  }

  async giveUp(record: BatchRecord): Promise<void> {
    await this.#store.write(() => {
      if (!this.#has(record)) return;
      this.#records.removeSync([record.pipeline_id, record.batch]);
      this.#keys.putInWrite(record.pipeline_id, record.batch, []);
      this.#moveInWrite(record.pipeline_id);
    });
    this.#pending.get(record.pipeline_id)?.delete(record.batch);
  }

  setBack(pipeline_id: string, from: number, to: number): Promise<void> {
    return this.#store.write(() => this.#keys.setBackInWrite(pipeline_id, from, to));
  }

  mark(pipeline_id: string, clock: number): Promise<void> {
    return this.#store.write(() => {
      this.#progress.putSync(pipeline_id, { ...this.progress(pipeline_id), clock });
    });
  }

  pending(pipeline_id: string): BatchRecord[] {
    return [...this.#records.getRange(rangeOf(pipeline_id))].map(({ value }) =>
      recordOf(value, this.#keys.of(pipeline_id, value.batch)),
    );
  }

  progress(pipeline_id: string): Progress {
    return this.#progress.get(pipeline_id) ?? nothingYet;
  }

  finalKeys(pipeline_id: string, after: number): Promise<FinalKeys[]> {
    return Promise.resolve(this.#keys.page(pipeline_id, after));
  }

  /**
   * Sets positions back, of a pipeline at rest without pending batches: what lies after them is read again. In one write, with
   * how far each feed had been read: the consumer group has that, until it gets the new positions. Throws REWIND_REFUSED where
   * a batch is pending.
   */
  async rewind(pipeline_id: string, partitions: readonly Pick<RewoundPartition, "feed" | "to">[]): Promise<void> {
    await this.#store.write(() => {
      if (this.#hasPending(pipeline_id)) {
        const text = `pipeline ${pipeline_id} is not rewound: prepared batches wait for their table; resolve its pause first`;
        throw new EngineError("REWIND_REFUSED", text);
      }
      const progress = this.progress(pipeline_id);
      const positions = { ...progress.positions };
      const cutLogs = { ...progress.notes?.cutLogs };
      for (const { feed, to } of partitions) {
        const read = Math.max((positions[feed] ?? -1) + 1, cutLogs[feed]?.next ?? 0);
        positions[feed] = Math.min(positions[feed] ?? to - 1, to - 1);
        cutLogs[feed] = { end: to, next: read, isSettled: true, isRewind: true };
      }
      this.#progress.putSync(pipeline_id, { ...progress, positions, notes: { ...progress.notes, cutLogs } });
    });
  }

  finalKeyCount(pipeline_id: string): number {
    return this.#keys.finalCount(pipeline_id);
  }

  /** Rows that the join of a pipeline has made and that are not settled; 0 without a join. */
  waitingRows(pipeline_id: string): number {
    const { joined = 0, positions } = this.progress(pipeline_id);
    return Math.max(0, joined - (positions[joinFeed] ?? 0));
  }

  /** The rows that the join of a pipeline has made were dropped, but for those that pending batches name. */
  rowsDropped(pipeline_id: string): Promise<void> {
    return this.#store.write(() => {
      const joined = this.namedUpTo(pipeline_id, joinFeed);
      this.#progress.putSync(pipeline_id, { ...this.progress(pipeline_id), joined });
    });
  }

  pendingCount(pipeline_id: string): number {
    return this.#pendingOf(pipeline_id).length;
  }

  /** Revisions that pending batches name. */
  namedRevisions(pipeline_id: string): Set<number> {
    return new Set(this.#pendingOf(pipeline_id).map(({ revision }) => revision));
  }

  /** The numbers of the dead letters that pending batches are made of. */
  heldLetters(pipeline_id: string): Set<number> {
    return new Set(this.#pendingOf(pipeline_id).flatMap(({ letters }) => letters));
  }

  /** The last position of the stream up to which no event is needed: a pending batch needs those that it names. */
  settledUpTo(pipeline_id: string): number {
    const named = this.#pendingOf(pipeline_id).flatMap(({ ranges }) =>
      ranges.filter(({ feed, count }) => feed === streamFeed && count > 0),
    );
    return Math.min(this.#streamPosition(pipeline_id), ...named.map(({ first }) => first - 1));
  }

  /** The last position of a feed, the stream by default, that a pending batch names or that is final. */
  namedUpTo(pipeline_id: string, feed = streamFeed): number {
    const named = this.#pendingOf(pipeline_id).flatMap(({ ranges }) => ranges.filter((range) => range.feed === feed));
    return Math.max(this.progress(pipeline_id).positions[feed] ?? 0, ...named.map(({ last }) => last));
  }

  /** The salt of a pipeline's fingerprints, 16 bytes; drawn where there is none yet. */
  async salt(pipeline_id: string): Promise<Uint8Array> {
    const present = this.#keys.salt(pipeline_id);
    if (present !== undefined) return present;
    const fresh = randomBytes(16);
    await this.#store.write(() => this.#keys.saltInWrite(pipeline_id, fresh));
    return this.#keys.salt(pipeline_id) ?? fresh;
  }

  /**
   * Removes the final keys of a pipeline, so that dedup starts anew. Keys of pending batches stay; those that their
   * duplicates wait for serve only that purpose.
   */
  forgetKeys(pipeline_id: string): Promise<void> {
    return this.#store.write(() => this.forgetKeysInWrite(pipeline_id));
  }

  /** The same, but for the keys of the dedups in `remaining` (`dedupId`); part of the write that changes the pipeline. */
  forgetKeysInWrite(pipeline_id: string, remaining?: ReadonlySet<string>): void {
    this.#keys.forgetInWrite(pipeline_id, this.#waitedFor(pipeline_id), remaining);
  }

  /** Removes a pipeline's records, keys and progress; part of the write that deletes it, after which `forgotten` is said. */
  forgetInWrite(pipeline_id: string): void {
    for (const key of Array.from(this.#records.getKeys(rangeOf(pipeline_id)))) this.#records.removeSync(key);
    this.#keys.removeInWrite(pipeline_id);
    this.#progress.removeSync(pipeline_id);
  }

  /** The write that deleted a pipeline is made. */
  forgotten(pipeline_id: string): void {
    this.#pending.delete(pipeline_id);
  }

  /** What a pipeline has belongs to another id from now on; part of the write that moves it, after which `moved` is said. */
  moveInWrite(from: string, to: string): void {
    for (const { key, value } of Array.from(this.#records.getRange(rangeOf(from)))) {
      this.#records.removeSync(key);
      this.#records.putSync([to, key[1]], { ...value, pipeline_id: to });
    }
    this.#keys.moveInWrite(from, to);
    const progress = this.#progress.get(from);
    this.#progress.removeSync(from);
    if (progress !== undefined) this.#progress.putSync(to, progress);
  }

  /** The write that moved a pipeline is made. */
  moved(from: string, to: string): void {
    const pending = this.#pending.get(from);
    this.#pending.delete(from);
    if (pending !== undefined) this.#pending.set(to, pending);
  }

  /** About how many bytes the write that moves a pipeline puts. */
  bytesToMove(pipeline_id: string): number {
    const pending = this.pending(pipeline_id).reduce((sum, record) => sum + recordBytes(record), 0);
    return pending + pageFill * this.#keys.finalBytes(pipeline_id);
  }

  #prepareInWrite(record: BatchRecord, clock = record.clock): void {
    const { pipeline_id, batch } = record;
    this.#records.putSync([pipeline_id, batch], storedRecord(record));
    this.#keys.putInWrite(pipeline_id, batch, record.keys);
    this.#advance(pipeline_id, { batch, clock });
  }

  #commitInWrite(record: BatchRecord, released: BatchRecord | undefined): void {
    const { pipeline_id, batch, clock } = record;
    // A repeated call, or one of a thread that died after the first one: the batch is settled already.
    if (!this.#has(record) && this.#isFinal(record)) return;
    this.#records.removeSync([pipeline_id, batch]);
    const written = lastWritten(record);
    const { joined } = record;
    this.#advance(pipeline_id, {
      batch,
      clock,
      positions: finalBy(record),
      epochs: epochsBy(record),
      ...(written && { written }),
      ...(joined !== undefined && { joined }),
    });
    const goOn = new Set(released && lettersOf(released));
    const gone = lettersOf(record).filter((number) => !goOn.has(number));
    if (record.madeOf.kind === "letters") this.#letters.removeInWrite(pipeline_id, gone);
    this.#letters.addInWrite(pipeline_id, placed(record));
    this.#keys.finishInWrite(pipeline_id, batch, new Set(deadPositions(record)));
    // It has the clock of the batch that it comes from, which is not the present time.
    if (released !== undefined) this.#prepareInWrite(released, this.progress(pipeline_id).clock);
    this.#keys.reclaimInWrite(pipeline_id, this.#oldestClock(record), this.#waitedFor(pipeline_id));
    if (released === undefined) this.#moveInWrite(pipeline_id);
  }

  #isFinal(record: BatchRecord): boolean {
    const { positions } = this.progress(record.pipeline_id);
    return Object.entries(finalBy(record)).every(([feed, last]) => (positions[feed] ?? -Infinity) >= last);
  }

  /** Moves of feeds by a person take effect as soon as no batch of the source is pending. */
  #moveInWrite(pipeline_id: string): void {
    const { moved, ...progress } = this.progress(pipeline_id);
    if (moved === undefined || this.#hasPending(pipeline_id)) return;
    this.#progress.putSync(pipeline_id, { ...progress, positions: { ...progress.positions, ...moved } });
  }

  /**
   * Whether batches are pending, but for those of the rows of a join: they do not read what a person has moved. Reads the
   * table, since within a write the memory is not changed yet.
   */
  #hasPending(pipeline_id: string): boolean {
    for (const { value } of this.#records.getRange(rangeOf(pipeline_id))) {
      if (value.ranges.length === 0 || value.ranges.some(({ feed }) => feed !== joinFeed)) return true;
    }
    return false;
  }

  #streamPosition(pipeline_id: string): number {
    return this.progress(pipeline_id).positions[streamFeed] ?? 0;
  }

  /** No key that is valid for a pending batch may be removed. */
  #oldestClock({ pipeline_id, clock }: BatchRecord): number {
    return Math.min(clock, ...this.#pendingOf(pipeline_id).map((pending) => pending.clock));
  }

  #waitedFor(pipeline_id: string): ReadonlySet<number> {
    return new Set(this.#pendingOf(pipeline_id).flatMap(({ waitsFor }) => waitsFor));
  }

  /** Numbers and positions only grow; the clock is that of the newest batch. */
  #advance(pipeline_id: string, to: Omit<Progress, "positions"> & { positions?: Progress["positions"] }): void {
    const now = this.progress(pipeline_id);
    const { written = now.written, joined = now.joined, positions = {}, epochs = {} } = to;
    this.#progress.putSync(pipeline_id, {
      ...now,
      positions: { ...now.positions, ...later(now.positions, positions) },
      ...(Object.keys(epochs).length > 0 && { epochs: { ...now.epochs, ...epochs } }),
      batch: Math.max(now.batch, to.batch),
      clock: to.batch > now.batch ? to.clock : now.clock,
      ...(written === undefined ? {} : { written }),
      ...(joined === undefined ? {} : { joined }),
    });
  }

  #has({ pipeline_id, batch, token }: BatchRecord): boolean {
    return this.#records.get([pipeline_id, batch])?.token === token;
  }

  #note(record: BatchRecord, rejected = amountOf(record.rejections)): void {
    const { pipeline_id, batch, revision, clock, waiting } = record;
    const pending = this.#pending.get(pipeline_id) ?? new Map<number, Pending>();
    this.#pending.set(pipeline_id, pending);
    const waitsFor = [...new Set(waiting.flatMap((drop) => drop.of ?? []))];
    pending.set(batch, { ranges: rangesOf(record), letters: lettersOf(record), revision, clock, waitsFor, rejected });
  }

  /**
   * Throws DISK_FULL where many dead letters come to a batch, and the disk has no room for its record and for its commit
   * beside what senders need: events that are only wrong must not take the last room of all pipelines.
   */
  #checkRoomForLetters({ pipeline_id, batch }: BatchRecord, rejected: LetterAmount): void {
    const known = this.#pending.get(pipeline_id)?.get(batch)?.rejected.bytes ?? 0;
    const bytes = rejected.bytes - known;
    if (bytes > fewLetters) this.#store.checkRoom(diskReserve + 2 * pageFill * bytes);
  }

  /** The dead letters that the pending batches of a pipeline add when they commit. */
  #rejected(pipeline_id: string): LetterAmount {
    const amounts = this.#pendingOf(pipeline_id).map(({ rejected }) => rejected);
    return {
      count: amounts.reduce((sum, { count }) => sum + count, 0),
      bytes: amounts.reduce((sum, { bytes }) => sum + bytes, 0),
    };
  }

  #pendingOf(pipeline_id: string): Pending[] {
    return [...(this.#pending.get(pipeline_id)?.values() ?? [])];
  }
}

function amountOf(rejections: readonly Rejection[]): LetterAmount {
  return { count: rejections.length, bytes: rejections.reduce((sum, one) => sum + letterBytes(one), 0) };
}

/** The offsets that become final with a batch. */
function finalBy(record: BatchRecord): Progress["positions"] {
  if (!holdsPositions(record)) return {};
  return Object.fromEntries(rangesOf(record).map(({ feed, last }) => [feed, last]));
}

function epochsBy(record: BatchRecord): NonNullable<Progress["epochs"]> {
  if (!holdsPositions(record)) return {};
  return Object.fromEntries(
    rangesOf(record).flatMap(({ feed, last: at, epoch }) => (epoch === undefined ? [] : [[feed, { at, epoch }]])),
  );
}

/** The rejections of a batch, each with the offset that its event has in its feed. */
function placed({ rejections, madeOf }: BatchRecord): Rejection[] {
  if (madeOf.kind === "letters") return rejections;
  return rejections.map((rejection) => {
    const at = offsetAt(madeOf.ranges, rejection.position);
    if (at === undefined) return rejection;
    const { feed, position } = at;
    return { ...rejection, position, ...(feed !== streamFeed && { feed }) };
  });
}

/** Of the offsets `to`, those that are after where their feeds stand now. */
function later(now: Progress["positions"], to: Progress["positions"]): Progress["positions"] {
  return Object.fromEntries(Object.entries(to).filter(([feed, last]) => last > (now[feed] ?? -Infinity)));
}

function rangeOf(pipeline_id: string): { start: Key; end: Key } {
  return { start: [pipeline_id, 0], end: [pipeline_id, Number.MAX_SAFE_INTEGER] };
}
