import { diskReserve, diskShare } from "../../core/disk.ts";
import { EngineError } from "../../core/errors.ts";
import type { Push } from "../../core/push.ts";
import type { StreamLimits } from "../../core/stream.ts";
import { frameSize, largestFrame, mostEvents } from "./frame.ts";
import type { Folder } from "./segment.ts";

/** Events and bytes, of the stream or of waiting pushes. */
interface Amount {
  messages: number;
  bytes: number;
}

/** Pushes that are not durable yet, including those that are being written. */
export class Unwritten implements Amount {
  messages = 0;
  bytes = 0;

  add(push: Push): void {
    this.messages += push.ends.length;
    this.bytes += frameSize(push);
  }

  /** Removes pushes that are durable or refused. */
  remove(pushes: readonly Push[]): void {
    for (const push of pushes) {
      this.messages -= push.ends.length;
      this.bytes -= frameSize(push);
    }
  }
}

/** Why a push is refused; undefined where there is room for all of it. */
export function refusalOf(push: Push, limits: StreamLimits, held: Amount, waiting: Amount): EngineError | undefined {
  const size = frameSize(push);
  const count = push.ends.length;
  const { max_msgs, max_bytes } = limits;
  if (count > Math.min(max_msgs, mostEvents)) {
    return tooLarge(`${count} events`, max_msgs < mostEvents ? `max_msgs (${max_msgs})` : `${mostEvents} events`);
  }
  if (size > Math.min(max_bytes, largestFrame)) {
    const limit = max_bytes < largestFrame ? `max_bytes (${max_bytes})` : `${largestFrame} bytes`;
    return tooLarge(`${size} bytes in the stream`, limit);
  }
  if (held.messages + waiting.messages + count > max_msgs) return full(`max_msgs (${max_msgs} events)`);
  if (held.bytes + waiting.bytes + size > max_bytes) return full(`max_bytes (${max_bytes} bytes)`);
  return undefined;
}

function full(limit: string): EngineError {
  return new EngineError(
    "STREAM_FULL",
    `the stream is full: ${limit} leaves no room for this request until events are written; send it again later`,
  );
}

function tooLarge(found: string, limit: string): EngineError {
  return new EngineError(
    "PUSH_TOO_LARGE",
    `the request makes ${found}, and the stream of this pipeline never holds more than ${limit}: send smaller requests`,
  );
}

/** How long a look at the disk is valid, in milliseconds, while there is room. */
const lookEvery = 1000;

/** How much room the disk of a folder has for one stream. */
export class DiskRoom {
  readonly #folder: Folder;
  #lookedAt = -Infinity;
  /** What was free when the disk was looked at, less what the stream has written since. */
  #free = Infinity;

  constructor(folder: Folder) {
    this.#folder = folder;
  }

  /** The most that the stream may hold, as the disk was last looked at. */
  get share(): number {
    return diskShare(this.#free);
  }

  /**
   * Checks that a stream that holds `held` bytes may write `size` more. Throws EngineError `DISK_FULL` where the disk has
   * less than the reserve, and `STREAM_FULL` where the stream would take more than its share.
   */
  async check(held: number, size: number): Promise<void> {
    if (this.#free < diskReserve || held + size > this.share) await this.#look();
    else await this.refresh();
    if (this.#free < diskReserve) {
      throw new EngineError(
        "DISK_FULL",
        `the disk of the data dir has less than ${diskReserve / 1024 / 1024} MB free: make room, then events are accepted again`,
      );
    }
    if (held + size > this.share) throw full("half of what is free beside it on the disk of the data dir");
    this.#free -= size;
  }

  /** Looks at the disk, at most once a second. */
  async refresh(): Promise<void> {
    if (performance.now() - this.#lookedAt >= lookEvery) await this.#look();
  }

  async #look(): Promise<void> {
    const { disk, path } = this.#folder;
    this.#free = await disk.freeBytes(path);
    this.#lookedAt = performance.now();
  }
}
