import type { PipelineConfig, SourceConfig } from "../../schemas/pipeline.ts";
import type { Feed } from "../core/positions.ts";
import type { SourceKind } from "../core/source-kind.ts";
import { kafka } from "./kafka/kind.ts";
import { otlp } from "./otlp/kind.ts";
import { webhook } from "./webhook/kind.ts";

/** All kinds of sources. One that is not pushed has a line in `open.ts` too. */
export const sourceKinds = { kafka, otlp, webhook } as const satisfies Record<string, SourceKind>;

type Kinds = typeof sourceKinds;
/** Types of the format that belong to no kind: with one of them the next line does not compile, and the error names it. */
type Missing = Exclude<SourceConfig["type"], Kinds[keyof Kinds]["types"][number]>;
const kinds = Object.values<SourceKind>(sourceKinds) satisfies [Missing] extends [never] ? SourceKind[] : Missing;

/** The kind of a source. */
export function kindOf({ type }: Pick<SourceConfig, "type">): SourceKind {
  const kind = kinds.find(({ types }) => types.includes(type));
  if (kind === undefined) throw new Error(`expected a source type of the registry, found ${type}`);
  return kind;
}

/** Whether events are pushed to the pipeline, and so stored in a stream of its own. */
export function isPushed({ sources }: Pick<PipelineConfig, "sources">): boolean {
  return sources.some((source) => kindOf(source).isPushed);
}

/** Whether a consumer group reads the events of a pipeline. */
export function hasConsumerGroup({ sources }: Pick<PipelineConfig, "sources">): boolean {
  return sources.some((source) => kindOf(source).hasConsumerGroup);
}

/** Whether senders authenticate with an access token of the pipeline. */
export function hasAccessToken({ sources }: Pick<PipelineConfig, "sources">): boolean {
  return sources.some((source) => kindOf(source).hasAccessToken);
}

/** The origin of a source's events; undefined where its kind has none. */
export function originOf(source: SourceConfig): string | undefined {
  return kindOf(source).origin?.of(source);
}

/** The origin that events of a feed have, whatever kind of source it belongs to; undefined where they have none. */
export function originOfFeed(feed: Feed): string | undefined {
  return kinds.map((kind) => kind.origin?.ofFeed(feed)).find((origin) => origin !== undefined);
}

/**
 * What the sources of a pipeline lack: completes "expected ..."; undefined where they are valid. Validation of the
 * files reports this earlier; this is the engine's own guard. A join may have sides of several kinds whose events are pushed:
 * one stream holds them.
 */
export function obstacleOf({ sources, join }: Pick<PipelineConfig, "sources" | "join">): string | undefined {
  if (sources.length === 0) return "a source";
  const ofKinds = new Map<SourceKind, SourceConfig[]>();
  for (const source of sources) ofKinds.set(kindOf(source), [...(ofKinds.get(kindOf(source)) ?? []), source]);
  const mayMix = join !== undefined && [...ofKinds.keys()].every(({ isPushed: pushed }) => pushed);
  if (ofKinds.size > 1 && !mayMix) return "sources of one kind";
  for (const [kind, own] of ofKinds) {
    const origins = new Set(own.map((source) => kind.origin?.of(source)));
    // A join may read one topic, or one signal, for both of its sides.
    const mayShare = join !== undefined && kind.origin !== undefined;
    if (origins.size < own.length && !mayShare) return `another ${kind.origin?.name ?? "pipeline"} for each source`;
    const obstacle = kind.obstacleOf(own, join !== undefined);
    if (obstacle !== undefined) return obstacle;
  }
  return undefined;
}
