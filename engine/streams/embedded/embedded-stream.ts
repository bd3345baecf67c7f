import { setTimeout as sleep } from "node:timers/promises";
import { backOff } from "../../flow/back-off.ts";
import { type Group, GroupCommit } from "../../flow/group-commit.ts";
import { Mutex } from "../../flow/mutex.ts";
import { diskShare, type Disk } from "../../core/disk.ts";
import { EngineError } from "../../core/errors.ts";
import type { Push } from "../../core/push.ts";
import type { Front, Stream, StreamLimits, StreamState } from "../../core/stream.ts";
import { makeFolders } from "../../state/durable-files.ts";
import { DurableMark } from "../../state/durable-mark.ts";
import { storageError } from "../../state/storage-error.ts";
import type { Arrival } from "./arrival-times.ts";
import { arrivalsIn, frontBefore } from "./find.ts";
import { frameSize } from "./frame.ts";
import { DiskRoom, refusalOf, Unwritten } from "./limits.ts";
import { LeftoverFile, UncertainWrite } from "./segment-file.ts";
import { answeredPath, type Folder } from "./segment.ts";
import { StreamFiles, type SegmentSizes } from "./stream-files.ts";

/** A small stream has smaller segments, but not below `reclaimed`. */
const usualSizes: SegmentSizes = { limit: 64 * 1024 * 1024, reclaimed: 1024 * 1024 };
const segmentsInLimit = 8;

/** One write and one sync take at most this much, or one push. */
const groupBytes = 4 * 1024 * 1024;

/** The first wait before it retries to cut the rest of a failed write, in milliseconds. */
const firstCutWait = 500;
const longestCutWait = 60_000;

interface StreamOptions {
  limits: StreamLimits;
  /** Events up to this sequence are settled. */
  trimmed: number;
  /** Called with the newest durable sequence after each group. */
  onAppended: (last: number) => void;
  /** Called with the error of a write whose rest cannot be cut: its pushes wait for their answer until it can. */
  onStuck?: (error: EngineError) => void;
  sizes?: SegmentSizes;
  /** How long a push may wait for its turn to be written, in milliseconds; as long as it takes by default. */
  patience?: number;
  /** Waits before attempt number `attempt` + 1 of a cut; the real time by default. */
  pace?: (attempt: number) => Promise<unknown>;
}

/**
 * A stream in append-only segment files: one write and one fdatasync for all pushes that wait at one moment; whole
 * files are deleted when their last event is trimmed.
 *
 * Append: pushes queue in memory; in turn they are written after the last frame and synced, and each is answered. What
 * a failed write has left in the file is cut, durably, before its group is answered with the error. If the cut fails
 * too, the group is answered only after a later cut has succeeded, and nothing is stored before: so no answer is ever
 * wrong. Everything that changes files waits for its turn.
 */
export class EmbeddedStream implements Stream {
  readonly #folder: Folder;
  readonly #limits: StreamLimits;
  readonly #files: StreamFiles;
  /** The sequence of the last event that was answered, or found at a start. */
  readonly #answered: DurableMark;
  readonly #room: DiskRoom;
  readonly #onAppended: StreamOptions["onAppended"];
  readonly #onStuck: NonNullable<StreamOptions["onStuck"]>;
  readonly #pace: NonNullable<StreamOptions["pace"]>;
  readonly #unwritten = new Unwritten();
  readonly #pushes: GroupCommit<Push, number>;
  /** Failed groups that may still be in the file: they are answered with their error once they are cut. */
  #uncertain: { group: Group<Push, number>; error: EngineError }[] = [];
  /** Changes of files run one after the other. */
  readonly #changes = new Mutex();
  #closing: Promise<void> | undefined;

  private constructor(
    folder: Folder,
    { limits, onAppended, onStuck = () => undefined, patience = Infinity, pace = realPace }: StreamOptions,
    files: StreamFiles,
    answered: DurableMark,
  ) {
    this.#folder = folder;
    this.#answered = answered;
    this.#limits = limits;
    this.#pace = pace;
    this.#files = files;
    this.#room = new DiskRoom(folder);
    this.#onAppended = onAppended;
    this.#onStuck = onStuck;
    this.#pushes = new GroupCommit<Push, number>({
      write: (group) => this.#writeGroup(group),
      inTurn: (write) => this.#inTurn(write),
      size: { sizeOf: frameSize, limit: groupBytes },
      patience: {
        most: patience,
        isGone: ({ caller }) => caller?.isGone === true,
        missed: (push) => this.#unwritten.remove([push]),
      },
    });
  }

  /**
   * Opens the stream in the folder `path`, making it first where there is none. Throws EngineError STORAGE_FAILED where it
   * is damaged, DISK_FULL and STORAGE_UNAVAILABLE; no file is open then.
   */
  static async open(disk: Disk, path: string, options: StreamOptions): Promise<EmbeddedStream> {
    const folder = { disk, path };
    const { limits, trimmed, sizes = usualSizes } = options;
    let opened: { close(): Promise<void> } | undefined;
    try {
      await makeFolders(disk, path);
      const most = Math.min(limits.max_bytes, diskShare(await disk.freeBytes(path)));
      const answered = await DurableMark.open(disk, answeredPath(folder));
      const files = await StreamFiles.open(folder, sizesWithin(sizes, most), {
        trimmed,
        answered: Number(answered.found),
      });
      opened = files;
      const stream = new EmbeddedStream(folder, options, files, answered);
      opened = stream;
      await stream.trim(trimmed);
      answered.note(BigInt(stream.state.last));
      return stream;
    } catch (error) {
      await opened?.close().catch(() => undefined);
      throw storageError(error instanceof LeftoverFile ? error.cause : error);
    }
  }

  append(push: Push): Promise<number> {
    const { state } = this;
    const refusal = this.#closing === undefined ? refusalOf(push, this.#limits, state, this.#unwritten) : closed();
    if (refusal !== undefined) return Promise.reject(refusal);
    if (push.ends.length === 0) return Promise.resolve(state.last);
    this.#unwritten.add(push);
    return this.#pushes.add(push);
  }

  trim(position: number): Promise<void> {
    this.#files.settle(position);
    return this.#inTurn(async () => {
      // The next start removes settled events; by then the folder may belong to another stream.
      if (this.#closing !== undefined) return;
      await this.#files.removeSettled();
      // A stream that was refused room may have made some.
      if (this.#room.share < this.state.bytes + groupBytes) await this.#room.refresh();
      if (!this.#files.isSpent) return;
      await this.#cut();
      await this.#files.begin();
      await this.#files.removeSettled();
    });
  }

  release(position: number): Promise<void> {
    return this.#inTurn(async () => {
      await this.#pushes.flush();
      await this.#cut();
      await this.#answered.lower(BigInt(position));
      await this.#files.release(position);
    });
  }

  olderThan(time: number): Promise<Front> {
    return frontBefore(this.#folder, this.#files.segments, time);
  }

  /** See `arrivalsIn`. */
  arrivals(): Promise<Arrival[]> {
    return arrivalsIn(this.#folder, this.#files.segments);
  }

  get state(): StreamState {
    return this.#files.segments.state;
  }

  get maxBytes(): number {
    return Math.min(this.#limits.max_bytes, this.#room.share);
  }

  close(): Promise<void> {
    this.#closing ??= this.#inTurn(async () => {
      await this.#pushes.flush();
      try {
        await this.#cut();
      } catch {
        // The next start decides whether they are events.
        this.#refuseUncertain();
      } finally {
        await this.#answered.close();
        await this.#files.close();
      }
    });
    return this.#closing;
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    return this.#changes.run(async () => {
      try {
        await work();
      } catch (error) {
        throw storageError(error);
      }
    });
  }

  async #writeGroup(group: Group<Push, number>): Promise<void> {
    try {
      await this.#store(group.items);
    } catch (error) {
      if (!(error instanceof UncertainWrite)) throw storageError(error);
      this.#answerLater(group, storageError(error.cause));
      return;
    } finally {
      this.#unwritten.remove(group.items);
    }
    const { last } = this.#files.segments.active;
    this.#answered.note(BigInt(last));
    this.#onAppended(last);
    accept(group, last);
  }

  async #store(pushes: readonly Push[]): Promise<void> {
    await this.#cut();
    await this.#room.check(
      this.state.bytes,
      pushes.reduce((sum, push) => sum + frameSize(push), 0),
    );
    await this.#files.append(pushes);
  }

  /** Removes what failed calls have left, so that files hold only what was answered; then answers the failed groups. */
  async #cut(): Promise<void> {
    await this.#files.cut();
    this.#refuseUncertain();
    await this.#files.removeLeftover();
  }

  #refuseUncertain(): void {
    for (const { group, error } of this.#uncertain.splice(0)) group.reject(error);
  }

  /** Answers a group when it is cut; the cut is retried until it succeeds. */
  #answerLater(group: Group<Push, number>, error: EngineError): void {
    this.#uncertain.push({ group, error });
    if (this.#uncertain.length > 1) return;
    this.#onStuck(error);
    void this.#keepCutting();
  }

  async #keepCutting(): Promise<void> {
    for (let attempt = 1; this.#uncertain.length > 0 && this.#closing === undefined; attempt += 1) {
      await this.#pace(attempt);
      await this.#inTurn(() => this.#cut()).catch(() => undefined);
    }
  }
}

/** A segment is at most a fraction of what the stream may hold: settled events of the newest one still take room. */
function sizesWithin({ limit, reclaimed }: SegmentSizes, most: number): SegmentSizes {
  return { limit: Math.max(reclaimed, Math.min(limit, most / segmentsInLimit)), reclaimed };
}

/** Answers pushes that are durable, each with the sequence of its last event; the last of all is `last`. */
function accept(group: Group<Push, number>, last: number): void {
  let position = last - group.items.reduce((sum, { ends }) => sum + ends.length, 0);
  group.resolve(({ ends }) => (position += ends.length));
}

function realPace(attempt: number): Promise<unknown> {
  return sleep(backOff(attempt, firstCutWait, longestCutWait), undefined, { ref: false });
}

function closed(): EngineError {
  return new EngineError(
    "STREAM_CLOSED",
    "the stream is closed and accepts no events: its pipeline was terminated, or the process ends",
  );
}
