import type { Daemon } from "../../../examples/quickstart/daemon.ts";
import type { PipelineHealth } from "../../../engine/index.ts";
import { CounterSums } from "../counter-sums.ts";
import { droppedBy, DuplicateCounter } from "../duplicate-counter.ts";
import type { ClickHouseServer } from "./server.ts";
import { insertsInFlight } from "./subject.ts";

/** What Sluice and the server counted, over all their processes, as far as it was sampled. */
export class ExternalSightings {
  readonly counters = new CounterSums();
  readonly #pipelines: readonly string[];
  readonly #duplicates = new DuplicateCounter();
  readonly #underWay = new Map<string, number>();

  constructor(pipelines: readonly string[]) {
    this.#pipelines = pipelines;
  }

  /** Blocks that the server dropped as repeats. */
  get dropped(): number {
    return this.#duplicates.total;
  }

  /** The most batches of a pipeline that were seen under way at one time. */
  underWay(pipeline_id: string): number {
    return this.#underWay.get(pipeline_id) ?? 0;
  }

  /** Notes what both processes have counted so far, before one of them is killed. */
  async sample(daemon: Daemon, server: ClickHouseServer): Promise<void> {
    for (const pipeline_id of this.#pipelines) await this.counters.sample(daemon, pipeline_id);
    this.#duplicates.note(server.pid, await droppedBy(server));
  }

  /** Whether each pipeline has had as many batches under way at one time as there may be inserts in flight. */
  async isFull(daemon: Daemon): Promise<boolean> {
    for (const pipeline_id of this.#pipelines) {
      const { pending_batches } = await healthOf(daemon, pipeline_id);
      this.#underWay.set(pipeline_id, Math.max(pending_batches, this.underWay(pipeline_id)));
    }
    return this.#pipelines.every((pipeline_id) => this.underWay(pipeline_id) >= insertsInFlight);
  }
}

export function healthOf(daemon: Daemon, pipeline_id: string): Promise<PipelineHealth> {
  return daemon.get(`/api/v1/pipeline/${pipeline_id}/health`);
}
