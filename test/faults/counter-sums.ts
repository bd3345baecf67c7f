import type { Daemon } from "../../examples/quickstart/daemon.ts";

type Counters = Record<string, number>;

/**
 * Adds up the counters of pipelines' health over restarts. They begin anew with each process, so the highest value seen
 * of each is kept; what a process counted after it was last sampled is missing.
 */
export class CounterSums {
  readonly #highest = new Map<string, Map<number, Counters>>();

  async sample(daemon: Daemon, pipeline_id: string): Promise<void> {
    const { counters } = await daemon.get<{ counters: Counters }>(`/api/v1/pipeline/${pipeline_id}/health`);
    const processes = this.#highest.get(pipeline_id) ?? new Map<number, Counters>();
    this.#highest.set(pipeline_id, processes.set(daemon.pid, counters));
  }

  of(pipeline_id: string): Counters {
    const sums: Counters = {};
    for (const counters of this.#highest.get(pipeline_id)?.values() ?? []) {
      for (const [name, value] of Object.entries(counters)) sums[name] = (sums[name] ?? 0) + value;
    }
    return sums;
  }
}
