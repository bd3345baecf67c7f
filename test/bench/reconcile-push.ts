import { setTimeout as sleep } from "node:timers/promises";
import type { Gauge, Registry } from "prom-client";
import type { Reconciler } from "../../reconciler/reconciler.ts";
import { note, type Measured } from "./reconcile-cost.ts";
import type { WatchedEngine } from "./reconcile-engine.ts";
import type { PipelineRepository } from "./reconcile-repository.ts";

interface Pushed {
  repository: PipelineRepository;
  reconciler: Reconciler;
  watched: WatchedEngine;
  registry: Registry;
  pushes: number;
}

/** The row of a push, from the moment when the reconciler is told of it to the first call of the engine. */
export const pushRow = "trigger to the first call, one file";

/** Pushes a commit of one file again and again while the reconciler takes its turns, and tells it each time. */
export async function measurePushes(measured: Measured, { pushes, ...of }: Pushed): Promise<void> {
  const { repository, reconciler, watched, registry } = of;
  const stop = new AbortController();
  const running = reconciler.run(stop.signal);
  try {
    for (let push = 0; push < pushes; push += 1) {
      await repository.change(1);
      const began = new Promise<void>((resolve) => (watched.onStop = resolve));
      await note(measured, pushRow, async () => {
        reconciler.trigger("manual");
        await began;
      });
      await ended(registry);
    }
  } finally {
    stop.abort();
    await running;
  }
}

/** Resolves when the turn is over: then the next push is met by a reconciler that waits, as it does on most days. */
async function ended(registry: Registry): Promise<void> {
  const gauge = registry.getSingleMetric("sluice_gitops_in_progress_start_time_seconds") as Gauge;
  while ((await gauge.get()).values[0]?.value !== 0) await sleep(5);
}
