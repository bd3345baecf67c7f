import type { Daemon } from "../../examples/quickstart/daemon.ts";
import { CounterSums } from "./counter-sums.ts";
import { DuplicateCounter } from "./duplicate-counter.ts";
import type { Sight } from "./steps.ts";

export interface Seen extends Sight {
  /** Drops of repeats that waited until what they repeat was in the table. */
  waited: number;
  /** Of those: drops that were no repeats after all, because the event that they repeated died. */
  judgedAgain: number;
}

/** What was seen of pipelines' deliveries, over all restarts, as far as it was sampled. */
export class Sightings {
  readonly #pipelines: readonly string[];
  readonly #counters = new CounterSums();
  readonly #duplicates = new DuplicateCounter();

  constructor(pipelines: readonly string[]) {
    this.#pipelines = pipelines;
  }

  async sample(daemon: Daemon): Promise<void> {
    for (const pipeline_id of this.#pipelines) await this.#counters.sample(daemon, pipeline_id);
    await this.#duplicates.sample(daemon);
  }

  of(pipeline_id: string): Seen {
    const counters = this.#counters.of(pipeline_id);
    return {
      replayed: counters["batches_replayed"] ?? 0,
      repeated: counters["inserts_repeated"] ?? 0,
      dropped: this.#duplicates.total,
      waited: counters["drops_waited"] ?? 0,
      judgedAgain: counters["drops_judged_again"] ?? 0,
    };
  }

  /** What was seen since an earlier look. */
  since(pipeline_id: string, before: Seen): Seen {
    const now = this.of(pipeline_id);
    return {
      replayed: now.replayed - before.replayed,
      repeated: now.repeated - before.repeated,
      dropped: now.dropped - before.dropped,
      waited: now.waited - before.waited,
      judgedAgain: now.judgedAgain - before.judgedAgain,
    };
  }
}
