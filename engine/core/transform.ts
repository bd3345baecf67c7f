import type { SchemaField } from "../../schemas/pipeline.ts";
import type { Event } from "../event/event.ts";
import type { Rejection } from "./dead-letter.ts";
import type { WaitingDrop } from "./journal.ts";
import type { KeyMemory } from "./key-memory.ts";

/** What a transform knows of the batch that its events are in. */
export interface BatchContext {
  /** The one time of the batch, in milliseconds since the epoch; a replay passes the same. */
  clock: number;
  /** The batch's number. */
  batch: number;
  /** For a replay: the positions that dedup kept when the batch was made. It keeps exactly them again. */
  kept?: ReadonlySet<number>;
}

/** What a transform made of the events of a batch: each event it was given is in exactly one place. */
export interface TransformResult {
  passed: Event[];
  /** How many were dropped on purpose. */
  dropped: number;
  rejected: Rejection[];
  /** Of dedup: events that repeat one which is not in the table yet. */
  waiting?: WaitingDrop[];
}

/**
 * A step between source and sink. Given the events and the context it is pure, but for dedup, which asks what is
 * remembered; a replay tells it what it answered then.
 */
export interface Transform {
  readonly name: "ingestor" | "filter" | "dedup" | "stateless";
  /** Keys of the events as they were received whose values it asks for. It may as well ask for the whole of an event. */
  readonly reads?: readonly string[];
  /** The fields of the events that it makes of others; absent where those that pass stay as they are. */
  readonly outputs?: readonly SchemaField[];
  /** Called by the pipeline alone, once per part of a batch and again for each replay. */
  apply(events: readonly Event[], context: BatchContext): TransformResult;
}

/** What the transforms of a source are made with. */
export interface TransformTools {
  /** The fields of the source's events. */
  fields: readonly SchemaField[];
  /** What the dedups of a pipeline remember. */
  keys: KeyMemory;
  /** What their fingerprints are made with, 16 random bytes. */
  salt: Uint8Array;
}
