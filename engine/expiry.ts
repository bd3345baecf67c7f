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

/** Events looked at in one step. */
const step = 1_000;
const stepBytes = 8 * 1024 * 1024;

/**
 * Removes events older than `max_age` from the stream of a pipeline that is at rest; one that runs leaves them out as
 * it reads. Events of a batch under way stay, and so does all behind them, until the pipeline has settled it.
 */
export async function expire({ pipeline_id, config }: CatalogEntry, parts: ExpiryParts): Promise<void> {
  const { journal, streams, recorder } = parts;
  const state = streams.state(pipeline_id);
  if (state.messages === 0 || journal.pendingCount(pipeline_id) > 0) return;
  const oldest = Date.now() - durationMs(config.resources.nats.stream.max_age);
  const reader = streams.reader(pipeline_id);
  let last: number | undefined;
  let count = 0;
  try {
    for (let isYoung = false; !isYoung;) {
      const events = await reader.read((last ?? state.first - 1) + 1, step, stepBytes);
      const old = events.findIndex(({ receivedAt }) => receivedAt >= oldest);
      isYoung = old !== -1 || events.length === 0;
      const aged = old === -1 ? events : events.slice(0, old);
      last = aged.at(-1)?.position ?? last;
      count += aged.length;
    }
  } finally {
    await reader.close();
  }
  if (last === undefined) return;
  await journal.place(pipeline_id, { [streamFeed]: last });
  recorder.agedOut({ pipeline_id, count });
  streams.settled(pipeline_id, last);
}
