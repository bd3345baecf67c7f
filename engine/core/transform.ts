import type { SchemaField } from "../../schemas/pipeline.ts";
import type { Event } from "../event/event.ts";
import type { Rejection } from "./dead-letter.ts";
import type { WaitingDrop } from "./journal.ts";
import type { KeyMemory } from "./key-memory.ts";

/** What a transform knows of the batch of its events. */
export interface BatchContext {
  /** The one time of the batch, in milliseconds since the epoch; a replay passes the same. */
  clock: number;
  /** The batch's number. */
  batch: number;
  /** For a replay: the positions that dedup kept when the batch was made. It keeps exactly them again. */
  kept?: ReadonlySet<number>;
}

/** A field of the events that feed a sink. */
export interface FedField extends SchemaField {
  /** Whether its value may be null; absent: as `required` says. */
  mayBeNull?: boolean;
  /** Of a field that is null where no value was recorded, and never a zero: whether an event says so. */
  isUnrecorded?: (event: Record<string, unknown>) => boolean;
}

/** The result of a transform: each event that it was given is in exactly one of these. */
export interface TransformResult {
  passed: Event[];
  /** How many were dropped on purpose. */
  dropped: number;
  rejected: Rejection[];
  /** Of dedup: duplicates of events that are not in the table yet. */
  waiting?: WaitingDrop[];
}

/**
 * A step between source and sink. Its result depends on the events and the context alone. Dedup is the exception: it
 * also reads the key memory, and in a replay `BatchContext.kept` instead.
 */
export interface Transform {
  readonly name: "ingestor" | "filter" | "dedup" | "stateless";
  /** Keys of the received events whose values it reads. It may read the whole event too. */
  readonly reads?: readonly string[];
  /** The fields of the events that it creates; absent where it passes events on unchanged. */
  readonly outputs?: readonly FedField[];
  /** Called by the pipeline alone, once per part of a batch and again for each replay. */
  apply(events: readonly Event[], context: BatchContext): TransformResult;
}

/** What the transforms of a source are created with. */
export interface TransformTools {
  /** The fields of the source's events. */
  fields: readonly SchemaField[];
  /** What the dedups of a pipeline remember. */
  keys: KeyMemory;
  /** What their fingerprints are made with, 16 random bytes. */
  salt: Uint8Array;
}
