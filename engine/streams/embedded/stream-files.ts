import type { Push } from "../../core/push.ts";
import { storageError } from "../../state/storage-error.ts";
import { frameHolding } from "./find.ts";
import { pushUpTo } from "./frame.ts";
import { type Known, scanSegments } from "./scan.ts";
import { LeftoverFile, removeLeftover, removeSegment, SegmentFile, writeSegment } from "./segment-file.ts";
import { SegmentList } from "./segment-list.ts";
import { headerSize, type Folder, type Segment } from "./segment.ts";

/** In bytes. */
export interface SegmentSizes {
  /** A segment is closed at this size, so that space is freed in pieces of it. */
  limit: number;
  /** A segment that is settled as a whole is removed if it is at least this large. */
  reclaimed: number;
}

/**
 * The segment files of a stream and the list of what they hold: events are appended to the newest, and a file is removed
 * when its last event is settled. Calls that change files must not overlap.
 */
export class StreamFiles {
  readonly segments: SegmentList;
  readonly #folder: Folder;
  readonly #sizes: SegmentSizes;
  #active: SegmentFile;
  /** The first sequences of settled segments whose files are still there. */
  readonly #settled = new Set<number>();
  /** The first sequences of incomplete files of a next segment, which must be removed before anything is stored. */
  readonly #leftover = new Set<number>();

  private constructor(folder: Folder, sizes: SegmentSizes, segments: SegmentList, active: SegmentFile) {
    this.#folder = folder;
    this.#sizes = sizes;
    this.segments = segments;
    this.#active = active;
  }

  /** Opens what the folder holds. No file is open where it throws. */
  static async open(folder: Folder, sizes: SegmentSizes, known: Known): Promise<StreamFiles> {
    const { trimmed } = known;
    const found = await scanSegments(folder, known);
    const active = await openActive(folder, found.at(-1), trimmed);
    const others = found.filter(({ first }) => first !== active.segment.first);
    return new StreamFiles(folder, sizes, new SegmentList([...others, active.segment], trimmed), active);
  }

  /** Writes pushes with one write and one sync, into a new segment where the active one is full. Throws as `SegmentFile.write`. */
  async append(pushes: readonly Push[]): Promise<void> {
    if (this.#active.isSuspect || this.segments.active.end >= this.#sizes.limit) await this.#roll();
    const { count, bytes } = await this.#active.write(pushes);
    this.segments.grew(count, bytes);
  }

  /** Cuts what a failed write has left in the file. */
  cut(): Promise<void> {
    return this.#active.cut();
  }

  async removeLeftover(): Promise<void> {
    for (const first of this.#leftover) {
      await removeLeftover(this.#folder, first);
      this.#leftover.delete(first);
    }
  }

  /** Events up to `position` are settled; `removeSettled` removes their files. */
  settle(position: number): void {
    for (const { first } of this.segments.settle(position)) this.#settled.add(first);
  }

  async removeSettled(): Promise<void> {
    for (const first of this.#settled) {
      await removeSegment(this.#folder, first);
      this.#settled.delete(first);
    }
  }

  /** Whether no event of the active segment is needed any more, and it is large enough to be replaced. */
  get isSpent(): boolean {
    const { last, end } = this.segments.active;
    return last <= this.segments.trimmed && end - headerSize >= this.#sizes.reclaimed;
  }

  /** Begins a segment. The one before has events, and is closed, suspect, or settled as a whole. */
  async begin(): Promise<void> {
    const before = this.#active;
    try {
      this.#active = await SegmentFile.create(this.#folder, before.segment.last + 1);
    } catch (error) {
      if (!(error instanceof LeftoverFile)) throw error;
      this.#leftover.add(error.first);
      throw storageError(error.cause);
    }
    this.segments.add(this.#active.segment);
    this.settle(this.segments.trimmed);
    // An error does not matter: this file is not written any more.
    await before.close().catch(() => undefined);
  }

  /** Drops the events after `position`. */
  async release(position: number): Promise<void> {
    const { first, last } = this.segments.active;
    if (last >= first) await this.#roll();
    const end = await this.#endAfter(position);
    for (const dropped of this.segments.release(position, end)) this.#settled.add(dropped.first);
    this.settle(this.segments.trimmed);
    await this.removeSettled();
  }

  close(): Promise<void> {
    return this.#active.close();
  }

  /** Closes the active segment and begins the next. Nothing is written to a suspect one, not even its closing frame. */
  async #roll(): Promise<void> {
    if (!this.#active.isSuspect) await this.#active.finish();
    await this.begin();
  }

  /**
   * Ends the segment with `position` there by a new segment, where nothing else shows that it ends: its file has more
   * events, or got no closing frame and is followed by a gap. The new one holds the events up to `position` of the frame
   * which is cut, if one is.
   */
  async #endAfter(position: number): Promise<Segment | undefined> {
    const segment = this.segments.closedAt(position);
    if (segment === undefined) return undefined;
    const { last, isClosed } = segment;
    if (last <= position) {
      const isEnded = isClosed || this.segments.active.first === last + 1;
      return isEnded ? undefined : writeSegment(this.#folder, last + 1, undefined);
    }
    const frame = await frameHolding(this.#folder, segment, position);
    const isWhole = frame.first + frame.count - 1 === position;
    return isWhole
      ? writeSegment(this.#folder, position + 1, undefined)
      : writeSegment(this.#folder, frame.first, pushUpTo(frame, position));
  }
}

/** The file that is appended to: that of the newest segment if it is open, otherwise a new one. */
function openActive(folder: Folder, newest: Segment | undefined, trimmed: number): Promise<SegmentFile> {
  if (newest?.isOpen === true && newest.last >= trimmed) return SegmentFile.reopen(folder, newest);
  return SegmentFile.create(folder, Math.max(newest?.last ?? 0, trimmed) + 1);
}
