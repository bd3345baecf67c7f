import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Registry } from "prom-client";
import type { Gauge } from "prom-client";
import { Hook } from "../../reconciler/hook/hook.ts";
import type { Reconciler } from "../../reconciler/reconciler.ts";
import { createHookTelemetry } from "../../reconciler/status/hook-telemetry.ts";
import { keptLog } from "../support/engine.ts";
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

/** The row of a push, from the moment when its host begins to post it to the hook to the first call of the engine. */
export const pushRow = "push hook to the first call, one file";

const secret = "the-secret-of-the-hook";

/** Pushes a commit of one file again and again while the reconciler takes its turns, and posts each to its hook. */
export async function measurePushes(measured: Measured, { pushes, ...of }: Pushed): Promise<void> {
  const { repository, reconciler, watched, registry } = of;
  const stop = new AbortController();
  const running = reconciler.run(stop.signal);
  const hook = new Hook({
    secrets: async () => [secret],
    followed: () => undefined,
    branch: () => "main",
    onPush: () => reconciler.trigger("webhook"),
    telemetry: createHookTelemetry(keptLog(), new Registry()),
  });
  const server = createServer(hook.handle).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  try {
    for (let push = 0; push < pushes; push += 1) {
      await repository.change(1);
      const began = new Promise<void>((resolve) => (watched.onStop = resolve));
      await note(measured, pushRow, async () => {
        await post(url);
        await began;
      });
      await ended(registry);
    }
  } finally {
    server.closeAllConnections();
    server.close();
    await hook.close();
    stop.abort();
    await running;
  }
}

/** A push as GitHub tells of it. */
async function post(url: string): Promise<void> {
  const body = JSON.stringify({ ref: "refs/heads/main" });
  const signature = createHmac("sha256", secret).update(body).digest("hex");
  const headers = {
    "content-type": "application/json",
    "x-github-event": "push",
    "x-hub-signature-256": `sha256=${signature}`,
  };
  const { status } = await fetch(url, { method: "POST", body, headers });
  if (status !== 202) throw new Error(`the hook: expected 202, found ${status}`);
}

/** Resolves when the turn is over: then the next push is met by a reconciler that waits, as it does on most days. */
async function ended(registry: Registry): Promise<void> {
  const gauge = registry.getSingleMetric("sluice_gitops_in_progress_start_time_seconds") as Gauge;
  while ((await gauge.get()).values[0]?.value !== 0) await sleep(5);
}
