import type { EngineOptions, Path, PipelineConfig, PipelineV3 } from "../../schemas/index.ts";
import type { Place, Problem } from "../language/problem.ts";

/** The desired state: what the files below the watched path describe. */
export interface DesiredState {
  /** Every pipeline with a valid document, by pipeline_id. */
  pipelines: DesiredPipeline[];
  /** Every invalid document or file; it changes no running pipeline. */
  refused: RefusedDocument[];
  /** All problems, warnings included, by file, line and column. */
  problems: Problem[];
  /** Files that a `.sluiceignore` names. Absent where there are none. */
  ignored?: readonly string[];
  /** YAML and JSON files that are hidden, or below a hidden folder, and are not read. Absent where there are none. */
  hidden?: readonly HiddenFile[];
}

/** A file that is not read, with the texts in it that look like a pipeline_id. */
export interface HiddenFile {
  path: string;
  ids: readonly string[];
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
  /** The names of the variables in a field of `config`, or of `x-sluice`. */
  variables(path: Path): string[];
}

/** The status that a pipeline is to have. */
export type WishedState = "Running" | "Stopped" | "Terminated";

export type DriftMode = "correct" | "report" | "ignore";

/** The directives for the reconciler alone, from the `x-sluice` key. */
export interface Directives {
  state: WishedState;
  suspend: boolean;
  prune: boolean;
  depends_on: string[];
  /** How changes are treated that were made through the engine and not in the file. */
  drift: DriftMode;
  adopt: boolean;
  recreate: boolean;
  /** The ids that it had before, the newest first. */
  moved_from: string[];
}

/** Those of a file that gives none. */
export const defaultDirectives: Directives = {
  state: "Running",
  suspend: false,
  prune: true,
  depends_on: [],
  drift: "correct",
  adopt: false,
  recreate: false,
  moved_from: [],
};

/**
 * A document, or a file that could not be read at all, which is not applied. The pipelines that it names are neither
 * changed nor pruned. If its pipelines cannot be read, `freezesFile` is true: every pipeline that was last in `file`
 * stays as it is.
 */
export interface RefusedDocument {
  file: string;
  line: number;
  freezesFile: boolean;
  /** In a file that could not be parsed: the texts that look like one. */
  pipeline_ids: string[];
  /** The former ids that it names, or the texts that look like one. Absent where there are none. */
  moved_from?: string[];
  problems: Problem[];
  /** It does not look like a pipeline at all: a file of another tool, unless it held a pipeline before. */
  isForeign?: true;
}

/** The number of documents, valid or not. */
export function documentCount({ pipelines, refused }: Pick<DesiredState, "pipelines" | "refused">): number {
  return pipelines.length + refused.length;
}
