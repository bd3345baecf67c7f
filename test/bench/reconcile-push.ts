import type { Reconciler } from "../../reconciler/reconciler.ts";
import { note, type Measured } from "./reconcile-cost.ts";
import type { WatchedEngine } from "./reconcile-engine.ts";
import type { PipelineRepository } from "./reconcile-repository.ts";

interface Pushed {
  repository: PipelineRepository;
  reconciler: Reconciler;
  watched: WatchedEngine;
  pushes: number;
}

/** The row of a push, from the moment when the reconciler is told of it to the first call of the engine. */
export const pushRow = "trigger to the first call, one file";

/** Pushes a commit of one file again and again while the reconciler takes its turns, and tells it each time. */
export async function measurePushes(measured: Measured, { pushes, ...of }: Pushed): Promise<void> {
  const { repository, reconciler, watched } = of;
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
      await applied(reconciler);
    }
  } finally {
    stop.abort();
    await running;
  }
}

/** Resolves when the turn is over: then the next push is met by a reconciler that waits, as it does on most days. */
async function applied(reconciler: Reconciler): Promise<void> {
  const turn = reconciler.snapshot().lastTurn;
  while (reconciler.snapshot().lastTurn === turn) await new Promise((resolve) => setTimeout(resolve, 20));
}
