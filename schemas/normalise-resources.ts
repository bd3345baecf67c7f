import { canonicalDuration } from "./duration.ts";
import type { PipelineV3, ResourcesDocument } from "./pipeline-v3.d.ts";
import type { ComponentResources, PipelineConfig, ResourcesConfig } from "./pipeline.ts";
import { canonicalCpu, canonicalSize } from "./quantity.ts";

type StreamLimits = ResourcesConfig["nats"]["stream"];
type TransformResources = ResourcesConfig["transform"][number];
type TransformDocument = NonNullable<ResourcesDocument["transform"]>[number];

const defaults = {
  max_age: "24h",
  max_bytes: "0",
  storage: "10Gi",
  requests: { cpu: "100m", memory: "128Mi" },
  limits: { cpu: "1500m", memory: "1.5Gi" },
} as const;

/**
 * Every component of the pipeline with its resources: one entry for each
 * source that is not OTLP, and one for each source that has a transform, is a side of the join or was given an entry, in
 * the order of sources.
 */
export function normaliseResources(file: PipelineV3, batchSize: number, stored?: PipelineConfig): ResourcesConfig {
  const given = file.resources ?? {};
  const isJoined = file.join?.enabled === true;
  const transformed = (source_id: string) =>
    isJoined || (file.transforms?.some((one) => one.source_id === source_id) ?? false);
  return {
    nats: { stream: streamLimits(given.nats?.stream ?? {}, batchSize, stored?.resources.nats.stream) },
    sources: file.sources
      .filter(({ type }) => hasResources(type))
      .map(({ source_id }) => ({ source_id, ...componentOf(entryOf(given.sources, source_id)) })),
    transform: file.sources
      .filter(({ source_id }) => transformed(source_id) || entryOf(given.transform, source_id) !== undefined)
      .map(({ source_id }) =>
        hasDedup(file, source_id)
          ? dedupResources(
              source_id,
              entryOf(given.transform, source_id),
              entryOf(stored?.resources.transform, source_id),
            )
          : { source_id, ...componentOf(entryOf(given.transform, source_id)) },
      ),
    sink: componentOf(given.sink),
  };
}

/** Whether sources of a type have resources of their own. Those of OTLP share one receiver. */
export function hasResources(type: string): boolean {
  return !type.startsWith("otlp.");
}

function entryOf<Entry extends { source_id: string }>(
  entries: readonly Entry[] | undefined,
  source_id: string,
): Entry | undefined {
  return entries?.find((one) => one.source_id === source_id);
}

function hasDedup(file: PipelineV3, source_id: string): boolean {
  return file.transforms?.some((one) => one.type === "dedup" && one.source_id === source_id) ?? false;
}

type StreamDocument = NonNullable<NonNullable<ResourcesDocument["nats"]>["stream"]>;

function streamLimits(given: StreamDocument, batchSize: number, stored?: StreamLimits): StreamLimits {
  const messages = given.max_msgs ?? given.maxMsgs ?? 0;
  return {
    max_age: canonicalDuration(given.max_age ?? given.maxAge ?? stored?.max_age ?? defaults.max_age),
    max_bytes: canonicalSize(given.max_bytes ?? given.maxBytes ?? stored?.max_bytes ?? defaults.max_bytes),
    max_msgs: messages !== 0 ? messages : (stored?.max_msgs ?? 8 * batchSize),
  };
}

/** Storage and replicas are immutable while dedup is on, so what the file leaves out stays as it is stored. */
function dedupResources(source_id: string, given?: TransformDocument, stored?: TransformResources): TransformResources {
  const kept = stored?.storage === undefined ? undefined : stored;
  const size = given?.storage?.size ?? kept?.storage?.size ?? defaults.storage;
  const replicas = given?.replicas ?? kept?.replicas;
  const component = componentOf({ ...given, ...(replicas !== undefined && { replicas }) });
  return { source_id, storage: { size: canonicalSize(size) }, ...component };
}

/** Fills what is missing one level deep: `requests` with only cpu keeps memory empty. */
function componentOf(given: ResourcesDocument["sink"]): ComponentResources {
  return {
    replicas: Math.max(1, given?.replicas ?? 1),
    requests: amounts(given?.requests ?? defaults.requests),
    limits: amounts(given?.limits ?? defaults.limits),
  };
}

function amounts({ cpu, memory }: { cpu?: string; memory?: string }): ComponentResources["requests"] {
  return {
    ...(cpu !== undefined && { cpu: canonicalCpu(cpu) }),
    ...(memory !== undefined && { memory: canonicalSize(memory) }),
  };
}
