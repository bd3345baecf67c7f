import type { Disk } from "../../core/disk.ts";
import { EngineError } from "../../core/errors.ts";
import type { Run, StreamReader } from "../../core/stream.ts";
import { Mutex } from "../../flow/mutex.ts";
import { takeEvents, type Frame } from "./frame.ts";
import { FrameWalk, WalkMemory } from "./frame-walk.ts";
import { FrameIndex } from "./frame-index.ts";
import { segmentFirsts } from "./scan.ts";
import type { Folder } from "./segment.ts";

/**
 * Reads a stream's segment files in another thread than the one that writes them. It reads no further than `tail`, the
 * newest sequence that the writer reported as durable, and so never reads a half-written frame.
 */
export class EmbeddedReader implements StreamReader {
  readonly #folder: Folder;
  readonly #memory = new WalkMemory();
  /** Known offsets of frames, by the first sequence of their segment. */
  readonly #indexes = new Map<number, FrameIndex>();
  #tail: number;
  /** What the walk has read ahead is durable up to this sequence. */
  #durable = 0;
  #walk: FrameWalk | undefined;
  /** The last frame that was read. */
  #frame: Frame | undefined;
  /** Events of the walk's file count only before this sequence. */
  #until = Infinity;
  /** Reads run one after the other: the read of a new batch and of one made again share one walk over the files. */
  readonly #reads = new Mutex();

  constructor(disk: Disk, path: string, tail: number) {
    this.#folder = { disk, path };
    this.#tail = tail;
  }

  advance(tail: number): void {
    this.#tail = Math.max(this.#tail, tail);
  }

  read(position: number, limit: number, maxBytes: number): Promise<Run[]> {
    return this.#reads.run(() => this.#read(position, limit, maxBytes));
  }

  close(): Promise<void> {
    return this.#reads.run(() => this.#closeFile());
  }

  async #read(position: number, limit: number, maxBytes: number): Promise<Run[]> {
    const runs: Run[] = [];
    let count = 0;
    let bytes = 0;
    for (let at = position; count < limit && bytes < maxBytes && at <= this.#tail;) {
      const frame = await this.#frameAt(at);
      if (frame === undefined) break;
      const from = Math.max(at, frame.first);
      const { events } = runOf(runs, frame);
      const before = events.length;
      const room = Math.min(limit - count, this.#tail - from + 1);
      bytes += takeEvents(frame, from, events, { room, maxBytes: maxBytes - bytes });
      count += events.length - before;
      at = from + events.length - before;
    }
    return runs;
  }

  async #closeFile(): Promise<void> {
    const walk = this.#walk;
    // Even if `close` fails, the file is closed.
    this.#walk = undefined;
    this.#frame = undefined;
    await walk?.close();
  }

  /** The frame with the event `position`, or the first one after it; undefined where there is none yet. */
  async #frameAt(position: number): Promise<Frame | undefined> {
    if (this.#frame !== undefined && holds(this.#frame, position)) return this.#frame;
    let walk = this.#walk?.next === position ? this.#walk : await this.#openAt(position);
    while (walk.next <= this.#tail) {
      const frame = walk.next < this.#until ? await this.#nextFrame(walk) : undefined;
      if (frame === undefined) {
        walk = await this.#openAfter(walk);
      } else if (frame.first + frame.count > position) {
        return frame;
      }
    }
    return undefined;
  }

  /** The next frame of a file; undefined where it has no more. */
  async #nextFrame(walk: FrameWalk): Promise<Frame | undefined> {
    if (walk.next > this.#durable) {
      walk.forget();
      this.#durable = this.#tail;
    }
    const reading = await walk.peek();
    if (reading.kind === "torn") throw this.#damaged(walk.next);
    if (reading.kind !== "frame") return undefined;
    if (reading.first !== walk.next) throw this.#damaged(walk.next);
    this.#indexes.get(walk.first)?.note(reading.first, walk.offset, reading.receivedAt);
    walk.pass(reading);
    this.#frame = reading;
    return reading;
  }

  /** Goes to the frame with the event `position`, or near before it, or to the first one after it. */
  #openAt(position: number): Promise<FrameWalk> {
    return this.#open(position, (firsts) => firsts.findLast((first) => first <= position) ?? firsts[0]);
  }

  /** Opens the segment after a file; events between them were dropped on purpose, or are trimmed. */
  #openAfter({ first: before, next }: FrameWalk): Promise<FrameWalk> {
    return this.#open(next, (firsts) => firsts.find((first) => first > before && first >= next));
  }

  async #open(position: number, choose: (firsts: readonly number[]) => number | undefined): Promise<FrameWalk> {
    for (;;) {
      const firsts = await segmentFirsts(this.#folder);
      const first = choose(firsts);
      if (first === undefined) throw this.#damaged(position);
      const walk = await this.#walkOf(first);
      // It was trimmed just now.
      if (walk === undefined) continue;
      this.#until = firsts.find((next) => next > first) ?? Infinity;
      for (const gone of [...this.#indexes.keys()].filter((known) => !firsts.includes(known)))
        this.#indexes.delete(gone);
      const frameIndex = await this.#indexOf(walk, position);
      const place = frameIndex.placeOf(position);
      if (place !== -1) walk.goTo(frameIndex.firsts[place]!, frameIndex.offsets[place]!);
      else walk.restart();
      this.#durable = 0;
      return walk;
    }
  }

  /** Opens the file of a segment, if it is not the one that is read; undefined where it is gone. */
  async #walkOf(first: number): Promise<FrameWalk | undefined> {
    if (this.#walk?.first === first) return this.#walk;
    await this.#closeFile();
    try {
      this.#walk = await FrameWalk.open(this.#folder, first, this.#memory);
      return this.#walk;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }

  /** The offsets of the frames of a file; a closed file has them in its closing frame. */
  async #indexOf(walk: FrameWalk, position: number): Promise<FrameIndex> {
    const known = this.#indexes.get(walk.first);
    if (known !== undefined) return known;
    const closed = position > walk.first ? await walk.closed() : undefined;
    const frameIndex = closed?.frameIndex ?? new FrameIndex();
    this.#indexes.set(walk.first, frameIndex);
    return frameIndex;
  }

  #damaged(position: number): EngineError {
    return new EngineError(
      "STORAGE_FAILED",
      `${this.#folder.path}: the event ${position} is damaged or missing: restore the folder`,
    );
  }
}

function holds({ first, count }: Frame, position: number): boolean {
  return first <= position && position < first + count;
}

/** The run that the events of a frame belong to: the last one, or a new one. */
function runOf(runs: Run[], { signal }: Frame): Run {
  const last = runs.at(-1);
  if (last !== undefined && last.signal === signal) return last;
  const run: Run = { signal, events: [] };
  runs.push(run);
  return run;
}
