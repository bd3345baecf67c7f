import { setImmediate as others } from "node:timers/promises";
import { byPlace, told } from "../validate/check.ts";
import type { Problem } from "../validate/problem.ts";
import { togetherProblems } from "../validate/rules/identity.ts";
import type { DesiredState, RefusedDocument } from "./desired-state.ts";
import { isRefused, readFile, type ReadDocument, type ReadFile } from "./read-file.ts";
import type { SourceFile } from "./source-text.ts";

/** Milliseconds of reading after which everybody else in the process has a turn. */
const longest = 20;

/**
 * What the files of a folder ask for. Never throws for what a file holds, and one file never touches the pipeline of
 * another, except that two documents with one pipeline_id are both refused. Files that `isPipelineFile` turns down are
 * left out.
 */
export function load(files: readonly SourceFile[]): DesiredState {
  return desiredState(files.filter(({ path }) => isPipelineFile(path)).map(readFile));
}

/**
 * Loads one revision after the other: a file with the same path and the same bytes as last time is not read again, and
 * what it asks for is the same object. The result is that of `load`.
 */
export class Loader {
  #known: ReadonlyMap<string, ReadFile> = new Map();

  /** Leaves room for others meanwhile: of ten thousand new files the reading takes seconds. Ends early with `signal`. */
  async load(files: readonly SourceFile[], signal: AbortSignal): Promise<DesiredState> {
    const read: ReadFile[] = [];
    let until = performance.now() + longest;
    for (const file of files) {
      if (!isPipelineFile(file.path)) continue;
      read.push(this.#read(file));
      if (performance.now() < until) continue;
      await others();
      signal.throwIfAborted();
      until = performance.now() + longest;
    }
    this.#known = new Map(read.map((one) => [one.file.path, one]));
    return desiredState(read);
  }

  #read(file: SourceFile): ReadFile {
    const known = this.#known.get(file.path);
    return known !== undefined && isSame(known.file.bytes, file.bytes) ? known : readFile(file);
  }
}

function isSame(before: Uint8Array, now: Uint8Array): boolean {
  return before === now || Buffer.compare(before, now) === 0;
}

/** Judges all documents together, which is cheap beside reading one. */
function desiredState(files: readonly ReadFile[]): DesiredState {
  const documents = files.flatMap((file) => file.documents);
  const unread = files.flatMap((file) => file.unread ?? []);
  const together = togetherProblems(documents.map(({ claims }) => claims));
  const judged = documents.map((document) => {
    const problems = told(document.judgement, together.get(document.claims));
    return { document, problems, isRefused: isRefused(problems) };
  });
  const refused = judged.filter((one) => one.isRefused).map((one) => refusedDocument(one.document, one.problems));
  return {
    pipelines: judged
      .flatMap((one) => (one.isRefused ? [] : (one.document.pipeline ?? [])))
      .toSorted((a, b) => (a.pipeline_id < b.pipeline_id ? -1 : 1)),
    refused: [...unread, ...refused],
    problems: [...unread, ...judged].flatMap(({ problems }) => problems).toSorted(byPlace),
  };
}

/** Whether a file below the watched path is read: YAML and JSON, except hidden files and folders and `sluice.yaml`. */
export function isPipelineFile(path: string): boolean {
  const segments = path.split("/").filter((segment) => segment !== "" && segment !== "." && segment !== "..");
  if (segments.some((segment) => segment.startsWith("."))) return false;
  const name = segments.at(-1) ?? "";
  return /\.(ya?ml|json)$/.test(name) && !/^sluice\.ya?ml$/.test(name);
}

function refusedDocument({ file, line, claims }: ReadDocument, problems: readonly Problem[]): RefusedDocument {
  const { pipeline_ids } = claims;
  return { file, line, freezesFile: pipeline_ids.length === 0, pipeline_ids, problems: [...problems] };
}
