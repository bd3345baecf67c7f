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

/**
 * Pushes are refused while the disk has less than this free, in MB. Pipelines process stored events until 8 MB are left
 * (the journal's reserve, see `state/preallocation.ts`); the rest is for what they write meanwhile, such as rows of the
 * embedded ClickHouse. With the journal's reserve alone, pushes would fill the disk until no stored event can be
 * processed.
 */
const reserveMegabytes = 48;
/** How long a result is valid, in milliseconds. */
const lookEvery = 1000;

/** Whether the disk of a folder has room beyond the reserve. */
export class DiskRoom {
  readonly #folder: Folder;
  #lookedAt = -Infinity;

  constructor(folder: Folder) {
    this.#folder = folder;
  }

  /** Checks the disk, at most once a second while there is room. Throws EngineError `DISK_FULL`. */
  async check(): Promise<void> {
    if (performance.now() - this.#lookedAt < lookEvery) return;
    const { disk, path } = this.#folder;
    if ((await disk.freeBytes(path)) < reserveMegabytes * 1024 * 1024) {
      throw new EngineError(
        "DISK_FULL",
        `the disk of the data dir has less than ${reserveMegabytes} MB free: make room, then events are accepted again`,
      );
    }
    this.#lookedAt = performance.now();
  }
}
