import { BatchClock, type BatchClockOptions } from "./batch-clock.ts";
import type { Journal } from "./core/journal.ts";
import type { KeyMemory } from "./core/key-memory.ts";
import type { Telemetry } from "./telemetry/telemetry.ts";

interface ClockedParts extends Omit<BatchClockOptions, "last" | "onStep"> {
  pipeline_id: string;
  journal: Journal;
  keys: KeyMemory;
  telemetry: Telemetry;
}

/**
 * The batch clock of a pipeline, from where it was at the end of the last run. When it is set back, keys that were
 * stamped later count from then on, in memory at once and over a restart too.
 */
export function pipelineClock({ pipeline_id, journal, keys, telemetry, ...clocks }: ClockedParts): BatchClock {
  return new BatchClock({
    ...clocks,
    last: journal.progress(pipeline_id).clock,
    onStep: ({ held, by, from, to }) => {
      telemetry.clockStepped({ pipeline_id, held, by });
      if (held || by >= 0) return;
      keys.setBack(from, to);
      // Where it cannot be written, the next start finds stamps of the future and counts them from there.
      void journal.setBack(pipeline_id, from, to).catch(() => undefined);
    },
  });
}
