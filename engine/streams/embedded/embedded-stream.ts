import type { Disk } from "../../core/disk.ts";
import { EngineError } from "../../core/errors.ts";
import type { Push } from "../../core/push.ts";
import type { Front, Stream, StreamLimits, StreamState } from "../../core/stream.ts";
import { makeFolders } from "../../state/folders.ts";
import { storageError } from "../../state/storage-error.ts";
import { DiskRoom } from "./disk-room.ts";
import { frameHolding, frontBefore } from "./find.ts";
import { frameSize, pushUpTo } from "./frame.ts";
import { refusalOf } from "./limits.ts";
import { scanSegments } from "./scan.ts";
import { SegmentFile, removeDropped, removeSettled, writeSegment } from "./segment-file.ts";
import { SegmentList } from "./segment-list.ts";
import { headerSize, type Folder, type Segment } from "./segment.ts";

/** A segment is closed at this size, so that space comes back in pieces of it; a small stream has smaller ones. */
const segmentBytes = 64 * 1024 * 1024;
const segmentsInLimit = 8;
/** A segment that is settled as a whole goes if it is at least so large; so much is the smallest segment, too. */
const reclaimedBytes = 1024 * 1024;
/** One write and one sync carry at most this much, or one push. */
const groupBytes = 4 * 1024 * 1024;

interface Waiting {
  push: Push;
  resolve: (position: number) => void;
  reject: (error: unknown) => void;
}

/**
 * A stream in append-only segment files: one write and one fdatasync for all pushes that wait at one moment; whole
 * files are deleted when their last event is trimmed.
 *
 * Append: pushes queue in memory; in turn they are written behind the last frame and synced, and each is answered. A
 * write that fails answers all of its group with the error, and what it left is cut off before the next. Everything that
 * changes files waits for its turn.
 */
export class EmbeddedStream implements Stream {
  readonly #folder: Folder;
  readonly #limits: StreamLimits;
  readonly #segments: SegmentList;
  readonly #room: DiskRoom;
  /** Called with the newest durable sequence after each group. */
  readonly #onAppended: (last: number) => void;
  #active: SegmentFile;
  #waiting: Waiting[] = [];
  #isWriting = false;
  /** What is not durable yet, the group that is being written included. */
  readonly #unwritten = { messages: 0, bytes: 0 };
  /** The first sequences of settled segments whose files are still there. */
  readonly #doomed = new Set<number>();
  /** Ends with the last change of files that was asked for. */
  #turns: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> | undefined;

  private constructor(
    folder: Folder,
    limits: StreamLimits,
    segments: SegmentList,
    active: SegmentFile,
    onAppended: (last: number) => void,
  ) {
    this.#folder = folder;
    this.#limits = limits;
    this.#segments = segments;
    this.#active = active;
    this.#room = new DiskRoom(folder);
    this.#onAppended = onAppended;
  }

  /** Opens the stream in the folder `path`, making it first where there is none. Events up to `trimmed` are settled. */
  static async open(
    disk: Disk,
    path: string,
    options: { limits: StreamLimits; trimmed: number; onAppended: (last: number) => void },
  ): Promise<EmbeddedStream> {
    const { limits, trimmed, onAppended } = options;
    const folder = { disk, path };
    await makeFolders(disk, path);
    const segments = await scanSegments(folder, trimmed);
    const active = await openActive(folder, segments.at(-1), trimmed);
    const others = segments.filter(({ first }) => first !== active.segment.first);
    const stream = new EmbeddedStream(
      folder,
      limits,
      new SegmentList([...others, active.segment], trimmed),
      active,
      onAppended,
    );
    await stream.trim(trimmed);
    return stream;
  }

  append(push: Push): Promise<number> {
    const { state } = this;
    const refusal = this.#closing === undefined ? refusalOf(push, this.#limits, state, this.#unwritten) : closed();
    if (refusal !== undefined) return Promise.reject(refusal);
    if (push.ends.length === 0) return Promise.resolve(state.last);
    this.#unwritten.messages += push.ends.length;
    this.#unwritten.bytes += frameSize(push);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ push, resolve, reject });
      this.#writeSoon();
    });
  }

  async trim(position: number): Promise<void> {
    this.#doom(position);
    await this.#removeDoomed();
    if (!this.#isSpent) return;
    await this.#inTurn(async () => {
      if (this.#isSpent) await this.#begin();
    });
    await this.#removeDoomed();
  }

  release(position: number): Promise<void> {
    return this.#inTurn(async () => {
      await this.#writeAll();
      const { first, last } = this.#segments.active;
      if (last >= first) await this.#roll();
      const end = await this.#endBehind(position);
      for (const dropped of this.#segments.release(position, end)) await removeDropped(this.#folder, dropped);
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
      await this.#active.close();
    });
    return this.#closing;
  }

  /** Changes of files follow each other. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#turns.then(work).catch((error: unknown) => {
      throw error instanceof EngineError ? error : storageError(error);
    });
    this.#turns = turn.catch(() => undefined);
    return turn;
  }

  #writeSoon(): void {
    if (this.#isWriting || this.#waiting.length === 0) return;
    this.#isWriting = true;
    void this.#inTurn(() => this.#writeGroup()).finally(() => {
      this.#isWriting = false;
      this.#writeSoon();
    });
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) await this.#writeGroup();
  }

  async #writeGroup(): Promise<void> {
    const group = this.#takeGroup();
    const pushes = group.map(({ push }) => push);
    try {
      await this.#store(pushes);
    } catch (error) {
      const failure = error instanceof EngineError ? error : storageError(error);
      for (const { reject } of group) reject(failure);
      return;
    } finally {
      for (const push of pushes) {
        this.#unwritten.messages -= push.ends.length;
        this.#unwritten.bytes -= frameSize(push);
      }
    }
    const { last } = this.#segments.active;
    this.#onAppended(last);
    let position = last - pushes.reduce((sum, { ends }) => sum + ends.length, 0);
    for (const { push, resolve } of group) resolve((position += push.ends.length));
  }

  #takeGroup(): Waiting[] {
    let bytes = 0;
    let count = 0;
    while (count < this.#waiting.length && (count === 0 || bytes < groupBytes)) {
      bytes += frameSize(this.#waiting[count]!.push);
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  async #store(pushes: readonly Push[]): Promise<void> {
    if (pushes.length === 0) return;
    await this.#room.check();
    if (this.#segments.active.end >= this.#segmentBytes) await this.#roll();
    const { count, bytes } = await this.#active.write(pushes);
    this.#segments.grew(count, bytes);
  }

  get #segmentBytes(): number {
    return Math.max(reclaimedBytes, Math.min(segmentBytes, this.#limits.max_bytes / segmentsInLimit));
  }

  /** Whether nothing in the active segment is needed any more, and its space is worth a new one. */
  get #isSpent(): boolean {
    const { last, end } = this.#segments.active;
    return this.#closing === undefined && last <= this.#segments.trimmed && end - headerSize >= reclaimedBytes;
  }

  async #roll(): Promise<void> {
    await this.#active.finish();
    await this.#begin();
  }

  /** Begins a segment. The one before is closed, or settled as a whole. */
  async #begin(): Promise<void> {
    const before = this.#active;
    this.#active = await SegmentFile.create(this.#folder, before.segment.last + 1);
    this.#segments.add(this.#active.segment);
    this.#doom(this.#segments.trimmed);
    await before.close();
  }

  #doom(position: number): void {
    for (const { first } of this.#segments.settle(position)) this.#doomed.add(first);
  }

  async #removeDoomed(): Promise<void> {
    for (const first of this.#doomed) {
      await removeSettled(this.#folder, first);
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
async function openActive(folder: Folder, newest: Segment | undefined, trimmed: number): Promise<SegmentFile> {
  try {
    if (newest?.isOpen === true && newest.last >= trimmed) return await SegmentFile.reopen(folder, newest);
    return await SegmentFile.create(folder, Math.max(newest?.last ?? 0, trimmed) + 1);
  } catch (error) {
    throw storageError(error);
  }
}

function closed(): EngineError {
  return new EngineError("STREAM_CLOSED", "the stream takes no events: its pipeline was stopped for good");
}
