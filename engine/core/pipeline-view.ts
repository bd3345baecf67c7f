import type { EngineOptions, PipelineConfig } from "../../schemas/pipeline.ts";

/**
 * The life of a pipeline (spec: lifecycle and API, sections 1 and 2).
 *
 * - `Created`: stored, not yet running. Leaves by itself.
 * - `Running`: reads, transforms, writes. A pause is still `Running`; health says why it waits.
 * - `Stopping`: reads no more, settles what is under way. `Stopped`: keeps its stream, which goes on buffering.
 * - `Terminating`: drops what is under way. `Terminated`: its stream is released and refuses events.
 * - `Resuming`: being started again.
 * - `Failed`: an operation failed in a way that no retry mends.
 */
export type Status =
  "Created" | "Running" | "Stopping" | "Stopped" | "Terminating" | "Terminated" | "Resuming" | "Failed";

/** A pipeline as the engine holds it. Secrets are the references of the file, never values. */
export interface PipelineView {
  pipeline_id: string;
  config: PipelineConfig;
  options: EngineOptions;
  status: Status;
  /** Why it is `Failed`; absent otherwise. */
  failure?: string;
  /** `closed`: it is about to be deleted, and takes no event any more. */
  intake?: "closed";
  /** Counts the edits of `config`, from 1. */
  revision: number;
  /** ISO 8601, UTC. */
  created_at: string;
  updated_at: string;
}
