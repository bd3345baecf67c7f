import type { Registry } from "prom-client";
import type { DeadLetterState, Engine, PipelineHealth } from "../../engine/index.ts";
import type { PipelineConfig } from "../../schemas/index.ts";
import type { Reconciler } from "../reconciler.ts";
import type { HistoryPage } from "../apply/history.ts";
import type { Info } from "./info.ts";
import { pageOf } from "./http/page.ts";
import { pipelineRecord } from "./pipeline-record.ts";
import type { PipelineRecord } from "./pipeline-record.ts";
import { redact } from "./redact.ts";

/** Where the status API reads. It never changes anything: only these members are used. */
export interface StatusSources {
  engine: Pick<Engine, "list" | "get" | "health" | "deadLetters">;
  reconciler: Pick<Reconciler, "snapshot" | "history">;
  registry: Registry;
  info: () => Info;
}

/** A URL that answers GET with a JSON document. In `path`, `{id}` stands for a pipeline's id. */
export interface ReadRoute {
  path: string;
  /** Throws EngineError PIPELINE_NOT_FOUND for an unknown `id`; `id` is empty where the path has none. */
  read: (sources: StatusSources, id: string, query: Readonly<Record<string, unknown>>) => unknown;
}

/** The documents of the status API (specification: lifecycle and API, sections 4 and 5). */
export const readRoutes: readonly ReadRoute[] = [
  { path: "/api/v1/pipeline", read: ({ engine }): PipelineRecord[] => engine.list().map(pipelineRecord) },
  { path: "/api/v1/pipeline/{id}", read: ({ engine }, id): PipelineConfig => redact(engine.get(id).config) },
  { path: "/api/v1/pipeline/{id}/health", read: ({ engine }, id): PipelineHealth => engine.health(id) },
  {
    path: "/api/v1/pipeline/{id}/dlq/state",
    read: ({ engine }, id): DeadLetterState => engine.deadLetters(id).state(),
  },
  { path: "/api/v1/pipeline/{id}/history", read: historyOf },
  { path: "/api/v1/reconcile", read: ({ reconciler }) => reconciler.snapshot() },
  { path: "/api/v1/history", read: ({ reconciler }, _id, query): HistoryPage => reconciler.history(pageOf(query)) },
  { path: "/api/v1/info", read: ({ info }): Info => info() },
];

/** A pipeline that was deleted has its history for a while. */
function historyOf(
  { engine, reconciler }: StatusSources,
  pipeline_id: string,
  query: Readonly<Record<string, unknown>>,
): HistoryPage {
  const page = reconciler.history({ pipeline_id, ...pageOf(query) });
  if (page.records.length === 0) engine.get(pipeline_id);
  return page;
}
