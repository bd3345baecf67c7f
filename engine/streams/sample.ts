import type { Disk } from "../core/disk.ts";
import { NewestEvents, type SourceSample } from "../event/newest-events.ts";
import { EmbeddedReader } from "./embedded/embedded-reader.ts";

/** Part of a stream, by its sequences: both ends are included. */
export interface StreamPart {
  folder: string;
  first: number;
  last: number;
}

/** Bytes that are read at a time. */
const chunkBytes = 1024 * 1024;

/** The newest events of a stream, at most `count`. Removes nothing. Throws STORAGE_FAILED, and the reason of `signal`. */
export async function sampleStream(
  disk: Disk,
  { folder, first, last }: StreamPart,
  count: number,
  signal: AbortSignal,
): Promise<SourceSample> {
  const newest = new NewestEvents(count);
  const from = Math.max(first, last - count + 1);
  if (from > last) return newest.sample;
  const reader = new EmbeddedReader(disk, folder, last);
  try {
    for (let at = from; at <= last;) {
      signal.throwIfAborted();
      const runs = await reader.read(at, last - at + 1, chunkBytes);
      const events = runs.flatMap((run) => run.events);
      if (events.length === 0) break;
      newest.add(events);
      at = events.at(-1)!.position + 1;
    }
  } finally {
    await reader.close();
  }
  return newest.sample;
}
