import { durationMs } from "../schemas/duration.ts";
import { streamFeed } from "./core/positions.ts";
import type { StoreJournal } from "./state/journal.ts";
import type { CatalogEntry } from "./state/catalog.ts";
import type { StreamShelf } from "./stream-shelf.ts";
import type { Recorder } from "./telemetry/recorder.ts";

interface ExpiryParts {
  journal: StoreJournal;
  streams: StreamShelf;
  recorder: Recorder;
}

/**
 * Removes events older than `max_age` from the stream of a pipeline that is at rest; one that runs leaves them out as
 * it reads. Events of a batch under way stay, and so does all behind them, until the pipeline has settled it.
 */
export async function expire({ pipeline_id, config }: CatalogEntry, parts: ExpiryParts): Promise<void> {
  const { journal, streams, recorder } = parts;
  if (streams.state(pipeline_id).messages === 0 || journal.pendingCount(pipeline_id) > 0) return;
  const oldest = Date.now() - durationMs(config.resources.nats.stream.max_age);
  const { count, last } = await streams.get(pipeline_id).olderThan(oldest);
  if (count === 0) return;
  await journal.place(pipeline_id, { [streamFeed]: last });
  recorder.agedOut({ pipeline_id, count });
  streams.settled(pipeline_id, last);
}
