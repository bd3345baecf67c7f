import type { PipelineV3 } from "../../schemas/index.ts";
import { fileText } from "./file-text.ts";
import { type NamedSecret, SecretNames } from "./secret-names.ts";
import { smallestDocument } from "./smallest-document.ts";

/** A pipeline with the path of its file. */
export interface PlacedPipeline {
  path: string;
  document: PipelineV3;
}

/** The files of a repository of pipelines. */
export interface RepositoryFiles {
  /** Texts by path, in the order of paths. */
  files: Map<string, string>;
  /** What has to be set where they run. */
  secrets: NamedSecret[];
}

/**
 * Valid pipelines as files that mean the same, and hold no secret. Those with one path are documents of one file,
 * which is no file of JSON.
 */
export function repositoryFiles(pipelines: readonly PlacedPipeline[]): RepositoryFiles {
  const names = new SecretNames();
  const files = new Map<string, string>();
  for (const { path, document } of pipelines.toSorted(byPlace)) {
    const text = fileText(smallestDocument(names.replacing(document)), /\.json$/i.test(path));
    const before = files.get(path);
    files.set(path, before === undefined ? text : `${before}---\n${text}`);
  }
  return { files, secrets: names.all };
}

function byPlace(a: PlacedPipeline, b: PlacedPipeline): number {
  if (a.path !== b.path) return a.path < b.path ? -1 : 1;
  return a.document.pipeline_id < b.document.pipeline_id ? -1 : 1;
}
