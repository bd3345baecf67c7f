import { EngineError } from "../core/errors.ts";
import { diskReserve, type Disk, type DiskFile } from "../core/disk.ts";
import { makeFolders, writeAll } from "../state/durable-files.ts";
import { DurableMark } from "../state/durable-mark.ts";
import type { Location } from "./buffered-events.ts";
import { LogFiles, readAll } from "./log-files.ts";
import {
  damaged,
  type LoadedPart,
  type LogReader,
  noEntries,
  readEntries,
  readPart,
  readParts,
  readSegments,
} from "./log-reading.ts";
import {
  areWholeRows,
  encodePart,
  encodeSegmentHead,
  entryBytes,
  headLengthOf,
  type Part,
  type SegmentHead,
  segmentHeadLength,
} from "./part.ts";
import { type RowPart, type Rows, UnsettledRows } from "./unsettled-rows.ts";

/** A segment gets no further step from this size on, in bytes. */
const usualSegment = 64 * 1024 * 1024;
/** Batches whose steps are remembered: more than may be pending at the same time. */
const rememberedTokens = 1_000;

export interface LogOptions {
  /** Identifies keys, windows and sides, 32 hex digits. Entries of another shape are forgotten. */
  shape: string;
  /** Rows up to this one are settled. */
  trimmed: number;
  /** The tokens of the batches that are not committed yet: their steps must be known. */
  pending: Iterable<string>;
  segmentBytes?: number;
}

interface Segment {
  number: number;
  head: SegmentHead;
  /** After its last durable step. */
  end: number;
}

/** A segment whose rows are settled and whose batches are committed, and its size. */
interface SettledSegment {
  number: number;
  bytes: number;
}

/** Where the entries of a part lie, in the order of the part. */
export interface PlacedEntries {
  segment: number;
  offsets: number[];
}

/**
 * The durable log of a join: each step holds the rows that it made and the events that it buffered, as one (see
 * `part.ts`). A step is durable as a whole or not at all; the next one begins when the one before is durable.
 *
 * Segment files are removed when their rows are settled and none of their entries counts any more. Calls must not
 * overlap, except for reads.
 */
export class JoinLog {
  readonly #disk: Disk;
  readonly #files: LogFiles;
  readonly #segmentBytes: number;
  readonly #segments: Segment[];
  /** The file of the newest segment; undefined until there is one. */
  #active: DiskFile | undefined;
  /** Bytes of an unfinished step may follow the last durable one. */
  #isRagged = false;
  /** The place after the last durable step, see `placeOf`. */
  readonly #durable: DurableMark;
  readonly #rows: UnsettledRows;
  /** The time of the last step. */
  #time = 0;
  /** Of the batches whose steps are durable, each with its segment. */
  readonly #tokens = new Map<string, number>();
  /** Of the batches that are not committed: a segment with the step of one stays. */
  readonly #pending: Set<string>;
  readonly #shape: string;

  private constructor(
    disk: Disk,
    files: LogFiles,
    segments: Segment[],
    active: DiskFile | undefined,
    durable: DurableMark,
    options: LogOptions,
  ) {
    this.#disk = disk;
    this.#files = files;
    this.#segments = segments;
    this.#active = active;
    this.#durable = durable;
    this.#rows = new UnsettledRows(options.trimmed);
    this.#pending = new Set(options.pending);
    this.#shape = options.shape;
    this.#segmentBytes = options.segmentBytes ?? usualSegment;
  }

  /**
   * Opens the log in the folder `path`, making it where there is none. `reader` gets what may still count, in the order of the
   * log. Resolves with the log, and how many entries of another shape it has forgotten. Throws EngineError
   * STORAGE_FAILED where the log is damaged, and errors of the system.
   */
  static async open(
    disk: Disk,
    path: string,
    options: LogOptions,
    reader: LogReader,
  ): Promise<{ log: JoinLog; forgotten: number }> {
    await makeFolders(disk, path);
    const files = new LogFiles(disk, path);
    const found = await readSegments(files);
    const counting = firstCounting(found, options.shape);
    const loads: LoadedPart[] = [];
    const segments: Segment[] = [];
    let forgotten = 0;
    for (const [index, { number, head }] of found.entries()) {
      const isLast = index === found.length - 1;
      const { parts, end } = await readParts(files, number, isLast);
      reader.step(head.time);
      for (const part of parts) {
        // Also what is forgotten has moved the time of the steps on.
        if (!part.head.isMoved) reader.step(part.head.clock);
        if (index < counting) forgotten += part.head.entries.count;
        else readEntries(part, reader);
        loads.push({ ...part, head: { ...part.head, entries: noEntries } });
      }
      segments.push({ number, head, end });
    }
    const durable = await DurableMark.open(disk, files.durablePath);
    assertDurable(files, segments.at(-1), durable.found);
    const active = await openActive(files, segments.at(-1));
    if (segments.length > 0) durable.note(placeOf(segments.at(-1)!));
    const log = new JoinLog(disk, files, segments, active, durable, options);
    log.#load(loads, options.trimmed);
    const isSame = counting < found.length;
    if (!isSame) await log.#roll({ keptUpTo: log.lastRow, isFresh: true });
    // A later start finds the same entries, but has not forgotten them.
    return { log, forgotten: isSame ? 0 : forgotten };
  }

  /** Whether the step of a batch is durable. */
  has(token: string): boolean {
    return this.#tokens.has(token);
  }

  /** A batch is committed, or given up: it is not sent again. */
  committed(token: string): void {
    this.#pending.delete(token);
  }

  /** The sequence of the newest row. */
  get lastRow(): number {
    return this.#rows.next - 1;
  }

  /** The newest row that was not dropped. */
  get newestRow(): number {
    return this.#rows.newest;
  }

  /** Rows that are not settled. */
  get unsettledRows(): number {
    return this.#rows.count;
  }

  /** See `UnsettledRows.oldest`. */
  get oldestRow(): number | undefined {
    return this.#rows.oldest;
  }

  /** Bytes of its files. */
  get bytes(): number {
    return this.#segments.reduce((sum, { end }) => sum + end, 0);
  }

  /**
   * Writes a step: `parts` in their order, of which the last one says that it is the last. Resolves when it is durable,
   * with the places of the entries. When it throws, the log is as before, and the same step may be written again.
   */
  async write(parts: AsyncIterable<Part>): Promise<PlacedEntries[]> {
    await this.#cut();
    if (this.#current.end >= this.#segmentBytes) await this.retireNewest();
    const [segment, file] = [this.#current, this.#active!];
    const placed: PlacedEntries[] = [];
    const written: { part: Part; offset: number; bytes: Buffer }[] = [];
    let at = segment.end;
    this.#isRagged = true;
    for await (const part of parts) {
      const { bytes, offsets } = encodePart(part);
      await this.#checkRoom(bytes.length);
      await writeAll(file, bytes, at);
      placed.push({ segment: segment.number, offsets: offsets.map((offset) => at + offset) });
      written.push({ part, offset: at, bytes });
      at += bytes.length;
    }
    await file.datasync();
    this.#isRagged = false;
    segment.end = at;
    this.#durable.note(placeOf(segment));
    for (const { part, offset, bytes } of written) this.#note(segment.number, part, offset, bytes);
    return placed;
  }

  /** The rows from `position` on, of one part, if there are any. Settled rows may be returned or not. */
  async rowsFrom(position: number): Promise<Rows | undefined> {
    const part = this.#rows.partOf(position);
    return part && (this.#rows.kept(part) ?? this.#readRows(part));
  }

  /** See `UnsettledRows.firstFrom`. */
  firstRowFrom(position: number): number {
    return this.#rows.firstFrom(position);
  }

  /** Rows before `position` are read, and need not be kept in memory. */
  passed(position: number): void {
    this.#rows.passed(position);
  }

  /** The bytes of buffered events, in the order of their places. Throws EngineError STORAGE_FAILED where one is damaged. */
  async entries(places: readonly Location[]): Promise<Buffer[]> {
    return this.#files.entries(places, (data, at, length, { segment, offset }) => {
      const bytes = entryBytes(data, at, length);
      if (bytes === undefined) throw damaged(this.#files.path(segment), offset);
      return bytes;
    });
  }

  /** Rows up to `position` are settled. */
  trim(position: number): void {
    this.#rows.settle(position);
  }

  /**
   * The segments that get no further step, whose rows are settled and whose batches are committed, with their sizes in bytes,
   * oldest first.
   */
  get settledSegments(): SettledSegment[] {
    return this.#settled().filter(({ number }) => number !== this.#current.number);
  }

  /** The newest segment, where its rows are settled and its batches are committed: it may get further steps. */
  get settledNewest(): SettledSegment | undefined {
    return this.#settled().find(({ number }) => number === this.#current.number);
  }

  /** Begins a segment: the newest one gets no further step. */
  async retireNewest(): Promise<void> {
    await this.#cut();
    await this.#roll({ keptUpTo: this.lastRow, isFresh: false });
  }

  /** Removes a segment of which nothing counts. */
  async remove(number: number): Promise<void> {
    await this.#files.remove(number);
    const index = this.#segments.findIndex((segment) => segment.number === number);
    if (index !== -1) this.#segments.splice(index, 1);
  }

  /** Begins a segment: rows after `keptUpTo` that are in earlier ones do not count. */
  async drop(keptUpTo: number): Promise<void> {
    await this.#roll({ keptUpTo, isFresh: true });
    this.#rows.drop(keptUpTo);
  }

  async close(): Promise<void> {
    await this.#durable.close();
    await this.#active?.close();
    await this.#files.close();
  }

  #settled(): SettledSegment[] {
    const holding = this.#rows.segments;
    for (const token of this.#pending) holding.add(this.#tokens.get(token) ?? 0);
    return this.#segments
      .filter(({ number, head }, index) => !holding.has(number) && (index === 0 || !head.isFresh))
      .map(({ number, end }) => ({ number, bytes: end }));
  }

  get #current(): Segment {
    return this.#segments.at(-1)!;
  }

  #load(parts: readonly LoadedPart[], trimmed: number): void {
    const remaining = parts[Symbol.iterator]();
    let next = remaining.next();
    for (const { head, number } of this.#segments) {
      this.#rows.reach(head.firstRow);
      this.#time = head.time;
      // What was dropped came before this segment.
      this.#rows.drop(head.keptUpTo);
      for (; next.done !== true && next.value.number === number; next = remaining.next()) {
        const { firstRow: first, rowEnds, token, clock, isMoved } = next.value.head;
        this.#remember(token, number);
        if (!isMoved) this.#time = clock;
        if (rowEnds.length === 0) continue;
        this.#rows.add({ segment: number, offset: next.value.offset, first, count: rowEnds.length, clock });
      }
    }
    this.#rows.reach(trimmed + 1);
    this.#rows.settle(trimmed);
  }

  #note(segment: number, part: Part, offset: number, bytes: Buffer): void {
    const { firstRow: first, rowEnds, clock, token, isMoved } = part;
    this.#remember(token, segment);
    if (!isMoved) {
      this.#time = clock;
      this.#pending.add(token);
    }
    if (rowEnds.length === 0) return;
    this.#rows.add({ segment, offset, first, count: rowEnds.length, clock });
    const rowsAt = headLengthOf(bytes)!;
    this.#rows.keep({ first, clock, places: placesOf(rowsAt, rowEnds), bytes });
  }

  #remember(token: string, segment: number): void {
    if (/^0*$/.test(token)) return;
    this.#tokens.set(token, segment);
    if (this.#tokens.size <= rememberedTokens) return;
    const [oldest] = this.#tokens.keys();
    this.#tokens.delete(oldest!);
  }

  async #readRows({ segment, offset, first, count }: RowPart): Promise<Rows> {
    const part = await this.#files.use(segment, async (file) => readPart(file, offset));
    if (part === undefined || part.firstRow !== first || part.rowEnds.length < count) {
      throw damaged(this.#files.path(segment), offset);
    }
    const bytes = Buffer.allocUnsafe(part.rowBytes);
    const rowsAt = offset + part.headLength;
    const read = await this.#files.use(segment, (file) => readAll(file, bytes, rowsAt));
    if (read < bytes.length || !areWholeRows(part, bytes)) {
      throw damaged(this.#files.path(segment), offset);
    }
    return { first, clock: part.clock, places: placesOf(0, part.rowEnds.subarray(0, count)), bytes };
  }

  /** Cuts what an unfinished step has left. */
  async #cut(): Promise<void> {
    if (!this.#isRagged) return;
    await this.#active!.truncate(this.#current.end);
    await this.#active!.sync();
    this.#isRagged = false;
  }

  async #roll(begun: Pick<SegmentHead, "keptUpTo" | "isFresh">): Promise<void> {
    const number = (this.#segments.at(-1)?.number ?? 0) + 1;
    const head: SegmentHead = { shape: this.#shape, firstRow: this.#rows.next, time: this.#time, ...begun };
    await this.#files.make(number, encodeSegmentHead(head));
    const file = await this.#files.openToWrite(number);
    // Its steps are durable; nothing is written to it any more.
    await this.#active?.close().catch(() => undefined);
    this.#active = file;
    this.#segments.push({ number, head, end: segmentHeadLength });
    this.#isRagged = false;
  }

  async #checkRoom(bytes: number): Promise<void> {
    if ((await this.#disk.freeBytes(this.#files.folder)) >= diskReserve + bytes) return;
    throw new EngineError("DISK_FULL", "the disk of the data dir is full: make room, then it goes on");
  }
}

/** The place after the last step of the newest segment, as a number that only grows. */
function placeOf({ number, end }: Segment): bigint {
  return (BigInt(number) << 40n) | BigInt(end);
}

/** Throws where a step that was durable is not in the newest segment. */
function assertDurable(files: LogFiles, newest: Segment | undefined, durable: bigint): void {
  if (newest === undefined ? durable === 0n : placeOf(newest) >= durable) return;
  throw damaged(newest === undefined ? files.folder : files.path(newest.number), newest?.end ?? 0);
}

/** The index of the first segment whose entries count, for a join of this shape; their number where none does. */
function firstCounting(segments: readonly { head: SegmentHead }[], shape: string): number {
  const fresh = segments.findLastIndex(({ head }) => head.isFresh);
  const other = segments.findLastIndex(({ head }) => head.shape !== shape);
  return Math.max(fresh, other + 1, 0);
}

/** The `places` of rows that begin at `start`, by where each ends after that. There may be more than a call takes arguments. */
function placesOf(start: number, ends: ArrayLike<number>): Uint32Array {
  const places = new Uint32Array(ends.length + 1).fill(start);
  for (let index = 0; index < ends.length; index += 1) places[index + 1]! += ends[index]!;
  return places;
}

/** Opens the newest segment to write after its last whole step; undefined where there is none. */
async function openActive(files: LogFiles, newest: Segment | undefined): Promise<DiskFile | undefined> {
  if (newest === undefined) return undefined;
  const file = await files.openToWrite(newest.number);
  try {
    if ((await file.size()) > newest.end) await file.truncate(newest.end);
    await file.sync();
    return file;
  } catch (error) {
    await file.close().catch(() => undefined);
    throw error;
  }
}
