import type { EngineOptions, Path, PipelineConfig, PipelineV3 } from "../../schemas/index.ts";
import type { Place, Problem } from "../language/problem.ts";

/** What the files below the watched path ask for. */
export interface DesiredState {
  /** Every pipeline whose document is good, by pipeline_id. */
  pipelines: DesiredPipeline[];
  /** Every document or file that is not; it changes nothing that runs. */
  refused: RefusedDocument[];
  /** Everything there is to say, warnings included, by file, line and column. */
  problems: Problem[];
}

export interface DesiredPipeline {
  pipeline_id: string;
  file: string;
  /** Where its document begins, from 1. */
  line: number;
  /** The document's canonical form with defaults for what it leaves out. */
  config: PipelineConfig;
  options: EngineOptions;
  directives: Directives;
  /**
   * The document as written. Against a pipeline that exists, `normalise(document, stored)` gives the config to compare
   * with: what the file leaves out of the immutable fields keeps its stored value.
   */
  document: PipelineV3;
  /** Where a field of `config`, or of `x-sluice`, is written; the nearest enclosing key where the file leaves it out. */
  place(path: Path): Place;
}

/** The status that a pipeline is to have. */
export type WishedState = "Running" | "Stopped" | "Terminated";

export type DriftMode = "correct" | "report" | "ignore";

/** What the reconciler alone acts on, from the `x-sluice` key. */
export interface Directives {
  state: WishedState;
  suspend: boolean;
  prune: boolean;
  depends_on: string[];
  /** What is done about changes that were made through the engine while the file stayed as it is. */
  drift: DriftMode;
  adopt: boolean;
  recreate: boolean;
}

/**
 * A document, or a file that could not be read at all, which is not applied. The pipelines that it names stay as they
 * are: they are neither changed nor pruned. Where its pipelines cannot be read, everything that was last seen in
 * `file` stays, which `freezesFile` says.
 */
export interface RefusedDocument {
  file: string;
  line: number;
  freezesFile: boolean;
  /** In a file that could not be read: what looks like one. */
  pipeline_ids: string[];
  problems: Problem[];
}
