import type { Registry } from "prom-client";
import type { DeadLetterState, Engine, PipelineHealth, PipelineView } from "../../engine/index.ts";
import {
  documentOf,
  isSecret,
  type Path,
  type PipelineConfig,
  type PipelineV3,
  readReference,
} from "../../schemas/index.ts";
import type { Reconciler } from "../reconciler.ts";
import type { HistoryPage } from "../apply/history.ts";
import type { LiveState } from "../preview/live-state.ts";
import type { Info } from "./info.ts";
import { pageOf } from "./http/page.ts";

/** The sources of the status API. It uses only these members, which change nothing. */
export interface StatusSources {
  engine: Pick<Engine, "list" | "get" | "health" | "deadLetters">;
  reconciler: Pick<Reconciler, "snapshot" | "history" | "actual">;
  registry: Registry;
  info: () => Info;
}

/** A URL that answers GET with a JSON document. In `path`, `{id}` stands for a pipeline's id. */
export interface ReadRoute {
  path: string;
  /** Throws EngineError PIPELINE_NOT_FOUND for an unknown `id`; `id` is empty where the path has none. */
  read: (sources: StatusSources, id: string, query: Readonly<Record<string, unknown>>) => unknown;
}

/** The documents of the status API (docs/api.md, Status API). */
export const readRoutes: readonly ReadRoute[] = [
  { path: "/api/v1/pipeline", read: ({ engine }): PipelineRecord[] => engine.list().map(pipelineRecord) },
  { path: "/api/v1/pipeline/{id}", read: ({ engine }, id): PipelineV3 => redact(documentOf(engine.get(id).config)) },
  { path: "/api/v1/pipeline/{id}/health", read: ({ engine }, id): PipelineHealth => engine.health(id) },
  {
    path: "/api/v1/pipeline/{id}/dlq/state",
    read: ({ engine }, id): DeadLetterState => engine.deadLetters(id).state(),
  },
  { path: "/api/v1/pipeline/{id}/history", read: historyOf },
  { path: "/api/v1/actual", read: ({ reconciler }): LiveState => reconciler.actual() },
  { path: "/api/v1/reconcile", read: ({ reconciler }) => reconciler.snapshot() },
  { path: "/api/v1/history", read: ({ reconciler }, _id, query): HistoryPage => reconciler.history(pageOf(query)) },
  { path: "/api/v1/info", read: ({ info }): Info => info() },
];

/** The history of a deleted pipeline is kept for a while. */
function historyOf(
  { engine, reconciler }: StatusSources,
  pipeline_id: string,
  query: Readonly<Record<string, unknown>>,
): HistoryPage {
  const page = reconciler.history({ pipeline_id, ...pageOf(query) });
  if (page.records.length === 0) engine.get(pipeline_id);
  return page;
}

/** Replaces a secret that was written as plain text. */
const redacted = "<redacted>";

/** User information of a URL: `https://user:password@host`. */
const userInfo = /(\/\/)[^/?#\s]*@/g;

/**
 * A document as it may leave the process: credentials that were given as plain text are replaced, references to
 * credentials stay, since they do not contain the secret. The schema marks credentials.
 */
function redact(document: PipelineV3): PipelineV3 {
  return redactAt(document, []) as PipelineV3;
}

function redactAt(value: unknown, path: Path): unknown {
  if (Array.isArray(value)) return value.map((item, index) => redactAt(item, [...path, index]));
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, redactAt(item, [...path, name])]));
  }
  if (isSecret(path)) return isHarmless(value) ? value : redacted;
  return path.at(-1) === "url" && typeof value === "string" ? value.replace(userInfo, `$1${redacted}@`) : value;
}

function isHarmless(value: unknown): boolean {
  return value === null || value === "" || (typeof value === "string" && readReference(value) !== undefined);
}

type TransformationType = "Ingest Only" | "Deduplication" | "Join" | "Join & Deduplication";

/** One entry of the list of pipelines (docs/api.md, Status API). */
export interface PipelineRecord {
  pipeline_id: string;
  name: string;
  transformation_type: TransformationType;
  created_at: string;
  updated_at: string;
  status: string;
  metadata: { tags: string[] };
}

function pipelineRecord(view: PipelineView): PipelineRecord {
  return {
    pipeline_id: view.pipeline_id,
    name: view.config.name,
    transformation_type: transformationType(view.config),
    created_at: view.created_at,
    updated_at: view.updated_at,
    status: view.status,
    metadata: { tags: view.config.metadata.tags },
  };
}

/** Depends on join and dedup alone, not on filters and stateless transforms. */
function transformationType(config: PipelineConfig): TransformationType {
  const dedups = config.transforms.some((transform) => transform.type === "dedup");
  if (config.join !== undefined) return dedups ? "Join & Deduplication" : "Join";
  return dedups ? "Deduplication" : "Ingest Only";
}
