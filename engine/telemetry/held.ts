import { Gauge, type Registry } from "prom-client";
import type { DeadLetterState } from "../core/dead-letter.ts";
import { diskReserve } from "../core/disk.ts";
import type { BoundedStreamState } from "../core/stream.ts";

interface Holdings {
  /** Bytes that are free on the disk of the data dir. */
  freeBytes: () => Promise<number>;
  /** Ids of the pipelines that exist. */
  pipelines: () => string[];
  deadLetters: (pipeline_id: string) => DeadLetterState;
  /** Undefined for a pipeline without a stream, and where that could not be opened. */
  stream: (pipeline_id: string) => BoundedStreamState | undefined;
  /** See `PipelineHealth.freshness_seconds`. */
  freshness: (pipeline_id: string) => number | undefined;
}

/** The metrics of what each pipeline holds on disk, and of its bounds. They are read at each scrape. */
export function exposeHoldings(
  registry: Registry,
  { pipelines, deadLetters, stream, freshness, freeBytes }: Holdings,
): void {
  exposeDisk(registry, freeBytes);
  const gauge = (name: string, help: string, valueOf: (pipeline_id: string) => number | undefined): void => {
    const made: Gauge<"pipeline_id"> = new Gauge({
      name,
      help,
      labelNames: ["pipeline_id"],
      registers: [registry],
      collect: () => {
        made.reset();
        for (const pipeline_id of pipelines()) {
          const value = valueOf(pipeline_id);
          if (value !== undefined) made.set({ pipeline_id }, value);
        }
      },
    });
  };
  gauge(
    "sluice_pipeline_freshness_seconds",
    "Age of the oldest event that is not yet a row; 0 where none waits.",
    freshness,
  );
  gauge("sluice_dead_letters_held", "Dead letters in the queue.", (id) => deadLetters(id).total_messages);
  gauge(
    "sluice_dead_letters_held_max",
    "Dead letters at which the pipeline pauses.",
    (id) => deadLetters(id).max_messages,
  );
  gauge("sluice_dead_letters_bytes", "Bytes of the dead letters in the queue.", (id) => deadLetters(id).bytes);
  gauge(
    "sluice_dead_letters_max_bytes",
    "Bytes of dead letters at which the pipeline pauses: less as the disk fills.",
    (id) => deadLetters(id).max_bytes,
  );
  gauge("sluice_stream_events", "Pushed events that are stored and not yet settled.", (id) => stream(id)?.messages);
  gauge("sluice_stream_bytes", "Bytes of the pushed events that are stored.", (id) => stream(id)?.bytes);
  gauge(
    "sluice_stream_max_bytes",
    "Bytes beyond which pushed events are refused: less as the disk fills.",
    (id) => stream(id)?.max_bytes,
  );
}

function exposeDisk(registry: Registry, freeBytes: () => Promise<number>): void {
  const free: Gauge = new Gauge({
    name: "sluice_data_dir_free_bytes",
    help: "Bytes that are free on the disk of the data dir.",
    registers: [registry],
    collect: async () => {
      // A disk that does not answer has no value: its last one would be old.
      free.reset();
      await freeBytes().then(
        (bytes) => free.set(bytes),
        () => free.remove(),
      );
    },
  });
  const reserve = new Gauge({
    name: "sluice_data_dir_reserve_bytes",
    help: "Free bytes of the disk below which senders are refused.",
    registers: [registry],
  });
  reserve.set(diskReserve);
}
