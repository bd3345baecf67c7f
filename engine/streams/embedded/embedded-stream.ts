import { setTimeout as sleep } from "node:timers/promises";
import { backOff } from "../../flow/back-off.ts";
import type { Disk } from "../../core/disk.ts";
import { EngineError } from "../../core/errors.ts";
import type { Push } from "../../core/push.ts";
import type { Front, Stream, StreamLimits, StreamState } from "../../core/stream.ts";
import { makeFolders } from "../../state/folders.ts";
import { storageError } from "../../state/storage-error.ts";
import { DiskRoom } from "./disk-room.ts";
import { frameHolding, frontBefore } from "./find.ts";
import { pushUpTo } from "./frame.ts";
import { refusalOf } from "./limits.ts";
import { accept, PushQueue, refuse, type Waiting } from "./push-queue.ts";
import { scanSegments } from "./scan.ts";
import { LeftOver, removeLeftOver, removeSegment, SegmentFile, Uncertain, writeSegment } from "./segment-file.ts";
import { SegmentList } from "./segment-list.ts";
import { headerSize, type Folder, type Segment } from "./segment.ts";

/** In bytes. */
export interface SegmentSizes {
  /** A segment is closed at this size, so that space comes back in pieces of it; a small stream has smaller ones. */
  limit: number;
  /** A segment that is settled as a whole goes if it is at least so large; so much is the smallest segment, too. */
  reclaimed: number;
}

const usualSizes: SegmentSizes = { limit: 64 * 1024 * 1024, reclaimed: 1024 * 1024 };
const segmentsInLimit = 8;

/** How long it waits before it tries again to cut what a failed write left, in milliseconds. */
const firstMendWait = 500;
const longestMendWait = 60_000;

interface StreamOptions {
  limits: StreamLimits;
  /** Events up to this sequence are settled. */
  trimmed: number;
  /** Called with the newest durable sequence after each group. */
  onAppended: (last: number) => void;
  sizes?: SegmentSizes;
  /** Waits before attempt number `attempt` + 1 of a cut; the real time by default. */
  pace?: (attempt: number) => Promise<unknown>;
}

/**
 * A stream in append-only segment files: one write and one fdatasync for all pushes that wait at one moment; whole
 * files are deleted when their last event is trimmed.
 *
 * Append: pushes queue in memory; in turn they are written behind the last frame and synced, and each is answered. What
 * a write that fails has left is cut, durably, before its group is answered with the error. Where the cut fails too, the
 * group is answered when it is known to be gone, and nothing is stored before: an answer never turns out wrong later.
 * Everything that changes files waits for its turn.
 */
export class EmbeddedStream implements Stream {
  readonly #folder: Folder;
  readonly #limits: StreamLimits;
  readonly #segments: SegmentList;
  readonly #room: DiskRoom;
  readonly #onAppended: StreamOptions["onAppended"];
  readonly #sizes: SegmentSizes;
  readonly #pace: NonNullable<StreamOptions["pace"]>;
  #active: SegmentFile;
  readonly #waiting = new PushQueue();
  #isWriting = false;
  /** The first sequences of settled segments whose files are still there. */
  readonly #doomed = new Set<number>();
  /** Groups that failed and may be there: they are answered with their error once they are gone. */
  #uncertain: { group: Waiting[]; error: EngineError }[] = [];
  /** The first sequences of files that were to be the next segment and must be gone before anything is stored. */
  readonly #leftOver = new Set<number>();
  /** Ends with the last change of files that was asked for. */
  #turns: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> | undefined;

  private constructor(
    folder: Folder,
    { limits, onAppended, sizes = usualSizes, pace = realPace }: StreamOptions,
    segments: SegmentList,
    active: SegmentFile,
  ) {
    this.#folder = folder;
    this.#limits = limits;
    this.#sizes = sizes;
    this.#pace = pace;
    this.#segments = segments;
    this.#active = active;
    this.#room = new DiskRoom(folder);
    this.#onAppended = onAppended;
  }

  /**
   * Opens the stream in the folder `path`, making it first where there is none. Throws EngineError STORAGE_FAILED where it
   * is damaged, DISK_FULL and STORAGE_UNAVAILABLE; no file is open then.
   */
  static async open(disk: Disk, path: string, options: StreamOptions): Promise<EmbeddedStream> {
    const folder = { disk, path };
    let opened: { close(): Promise<void> } | undefined;
    try {
      await makeFolders(disk, path);
      const segments = await scanSegments(folder, options.trimmed);
      const file = await openActive(folder, segments.at(-1), options.trimmed);
      opened = file;
      const others = segments.filter(({ first }) => first !== file.segment.first);
      const list = new SegmentList([...others, file.segment], options.trimmed);
      const stream = new EmbeddedStream(folder, options, list, file);
      opened = stream;
      await stream.trim(options.trimmed);
      return stream;
    } catch (error) {
      await opened?.close().catch(() => undefined);
      throw storageError(error instanceof LeftOver ? error.cause : error);
    }
  }

  append(push: Push): Promise<number> {
    const { state } = this;
    const refusal =
      this.#closing === undefined ? refusalOf(push, this.#limits, state, this.#waiting.unwritten) : closed();
    if (refusal !== undefined) return Promise.reject(refusal);
    if (push.ends.length === 0) return Promise.resolve(state.last);
    const stored = this.#waiting.add(push);
    this.#writeSoon();
    return stored;
  }

  trim(position: number): Promise<void> {
    this.#doom(position);
    return this.#inTurn(async () => {
      // The next start removes what is settled; by then the folder may be another stream's.
      if (this.#closing !== undefined) return;
      await this.#removeDoomed();
      if (!this.#isSpent) return;
      await this.#mend();
      await this.#begin();
      await this.#removeDoomed();
    });
  }

  release(position: number): Promise<void> {
    return this.#inTurn(async () => {
      await this.#writeAll();
      await this.#mend();
      const { first, last } = this.#segments.active;
      if (last >= first) await this.#roll();
      const end = await this.#endBehind(position);
      for (const dropped of this.#segments.release(position, end)) this.#doomed.add(dropped.first);
      this.#doom(this.#segments.trimmed);
      await this.#removeDoomed();
    });
  }

  olderThan(time: number): Promise<Front> {
    return frontBefore(this.#folder, this.#segments, time);
  }

  get state(): StreamState {
    return this.#segments.state;
  }

  close(): Promise<void> {
    this.#closing ??= this.#inTurn(async () => {
      await this.#writeAll();
      try {
        await this.#mend();
      } catch {
        // The next start decides what becomes of them.
        this.#refuseUncertain();
      } finally {
        await this.#active.close();
      }
    });
    return this.#closing;
  }

  /** Changes of files follow each other. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#turns.then(work).catch((error: unknown) => {
      throw storageError(error);
    });
    this.#turns = turn.catch(() => undefined);
    return turn;
  }

  #writeSoon(): void {
    if (this.#isWriting || this.#waiting.isEmpty) return;
    this.#isWriting = true;
    void this.#inTurn(() => this.#writeGroup()).finally(() => {
      this.#isWriting = false;
      this.#writeSoon();
    });
  }

  async #writeAll(): Promise<void> {
    while (!this.#waiting.isEmpty) await this.#writeGroup();
  }

  async #writeGroup(): Promise<void> {
    const group = this.#waiting.takeGroup();
    const pushes = group.map(({ push }) => push);
    try {
      await this.#store(pushes);
    } catch (error) {
      if (error instanceof Uncertain) this.#holdBack(group, storageError(error.cause));
      else refuse(group, storageError(error));
      return;
    } finally {
      this.#waiting.written(group);
    }
    const { last } = this.#segments.active;
    this.#onAppended(last);
    accept(group, last);
  }

  async #store(pushes: readonly Push[]): Promise<void> {
    if (pushes.length === 0) return;
    await this.#mend();
    await this.#room.check();
    if (this.#active.isSuspect || this.#segments.active.end >= this.#segmentBytes) await this.#roll();
    const { count, bytes } = await this.#active.write(pushes);
    this.#segments.grew(count, bytes);
  }

  /** Takes away what failed calls have left, so that files hold nothing but what was answered; then answers the rest. */
  async #mend(): Promise<void> {
    await this.#active.cut();
    this.#refuseUncertain();
    for (const first of this.#leftOver) {
      await removeLeftOver(this.#folder, first);
      this.#leftOver.delete(first);
    }
  }

  #refuseUncertain(): void {
    for (const { group, error } of this.#uncertain.splice(0)) refuse(group, error);
  }

  /** A group is answered when it is known what became of it: that is tried again and again. */
  #holdBack(group: Waiting[], error: EngineError): void {
    this.#uncertain.push({ group, error });
    if (this.#uncertain.length === 1) void this.#keepMending();
  }

  async #keepMending(): Promise<void> {
    for (let attempt = 1; this.#uncertain.length > 0 && this.#closing === undefined; attempt += 1) {
      await this.#pace(attempt);
      await this.#inTurn(() => this.#mend()).catch(() => undefined);
    }
  }

  get #segmentBytes(): number {
    const { limit, reclaimed } = this.#sizes;
    return Math.max(reclaimed, Math.min(limit, this.#limits.max_bytes / segmentsInLimit));
  }

  /** Whether nothing in the active segment is needed any more, and its space is worth a new one. */
  get #isSpent(): boolean {
    const { last, end } = this.#segments.active;
    return last <= this.#segments.trimmed && end - headerSize >= this.#sizes.reclaimed;
  }

  /** Ends the active segment and begins the next. One that is suspect is not written to any more, not even that. */
  async #roll(): Promise<void> {
    if (!this.#active.isSuspect) await this.#active.finish();
    await this.#begin();
  }

  /** Begins a segment. The one before has events, and is closed, suspect, or settled as a whole. */
  async #begin(): Promise<void> {
    const before = this.#active;
    try {
      this.#active = await SegmentFile.create(this.#folder, before.segment.last + 1);
    } catch (error) {
      if (!(error instanceof LeftOver)) throw error;
      this.#leftOver.add(error.first);
      throw storageError(error.cause);
    }
    this.#segments.add(this.#active.segment);
    this.#doom(this.#segments.trimmed);
    // It is not needed any more, whatever becomes of this.
    await before.close().catch(() => undefined);
  }

  #doom(position: number): void {
    for (const { first } of this.#segments.settle(position)) this.#doomed.add(first);
  }

  async #removeDoomed(): Promise<void> {
    for (const first of this.#doomed) {
      await removeSegment(this.#folder, first);
      this.#doomed.delete(first);
    }
  }

  /**
   * Writes the segment by which the one with `position` ends there, where its file has more: it holds what the frame
   * there has up to it, if that is a part.
   */
  async #endBehind(position: number): Promise<Segment | undefined> {
    const segment = this.#segments.closedAt(position);
    if (segment === undefined) return undefined;
    const { last, isCut } = segment;
    if (last <= position) return isCut ? writeSegment(this.#folder, last + 1, undefined) : undefined;
    const frame = await frameHolding(this.#folder, segment, position);
    const isWhole = frame.first + frame.count - 1 === position;
    return isWhole
      ? writeSegment(this.#folder, position + 1, undefined)
      : writeSegment(this.#folder, frame.first, pushUpTo(frame, position));
  }
}

/** The file that is appended to: that of the newest segment, if it takes more, else a new one. */
function openActive(folder: Folder, newest: Segment | undefined, trimmed: number): Promise<SegmentFile> {
  if (newest?.isOpen === true && newest.last >= trimmed) return SegmentFile.reopen(folder, newest);
  return SegmentFile.create(folder, Math.max(newest?.last ?? 0, trimmed) + 1);
}

function realPace(attempt: number): Promise<unknown> {
  return sleep(backOff(attempt, firstMendWait, longestMendWait), undefined, { ref: false });
}

function closed(): EngineError {
  return new EngineError("STREAM_CLOSED", "the stream takes no events: its pipeline was stopped for good");
}
