import type { Registry } from "prom-client";
import { Engine } from "../../engine/index.ts";
import type { Log } from "../../engine/index.ts";
import type { AppliedEngine } from "../../reconciler/apply/carry-out.ts";
import { tableOfSecrets } from "../support/engine.ts";
import { ModelEngine } from "../support/model-engine.ts";

export const quiet: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** An engine that tells of the stop with which every edit begins. */
export interface WatchedEngine {
  engine: AppliedEngine;
  onStop: () => void;
  close(): Promise<void>;
}

/** `real`: with its streams, threads and tables; `model`: with none of that, so that all that is seen is the reconciler. */
export async function openEngine(kind: "real" | "model", dataDir: string, registry: Registry): Promise<WatchedEngine> {
  const real =
    kind === "real" ? await Engine.open({ dataDir, log: quiet, registry, secrets: tableOfSecrets() }) : undefined;
  const of = real ?? new ModelEngine();
  const watched: WatchedEngine = {
    engine: {
      get: (id) => of.get(id),
      list: () => of.list(),
      health: (id) => of.health(id),
      recreating: (...args) => of.recreating(...args),
      check: (...args) => of.check(...args),
      create: (...args) => of.create(...args),
      stop: (...args) => {
        watched.onStop();
        return of.stop(...args);
      },
      terminate: (id) => of.terminate(id),
      resume: (...args) => of.resume(...args),
      update: (...args) => of.update(...args),
      move: (...args) => of.move(...args),
      configure: (...args) => of.configure(...args),
      rename: (...args) => of.rename(...args),
      tag: (...args) => of.tag(...args),
      delete: (id) => of.delete(id),
      staleSecrets: () => of.staleSecrets(),
    },
    onStop: () => undefined,
    close: async () => real?.close(),
  };
  return watched;
}
