import { engineOptions, normalise, type PipelineV3 } from "../../schemas/index.ts";
import { byPlace, check } from "../validate/check.ts";
import type { Problem } from "../validate/problem.ts";
import { pipelineIdsOf, togetherProblems } from "../validate/rules/identity.ts";
import type { DesiredPipeline, DesiredState, Directives, RefusedDocument } from "./desired-state.ts";
import type { Document } from "./document.ts";
import { parse } from "./parse.ts";
import { placeIn } from "./place-in.ts";
import type { SourceFile } from "./source-text.ts";
import { inVersion3 } from "./version-2.ts";

/**
 * What the files of a folder ask for. Never throws for what a file holds, and one file never touches the pipeline of
 * another, except that two documents with one pipeline_id are both refused. Files that `isPipelineFile` turns down are
 * left out.
 */
export function load(files: readonly SourceFile[]): DesiredState {
  const pipelineFiles = files.filter(({ path }) => isPipelineFile(path));
  const documents: Document[] = [];
  const unread: RefusedDocument[] = [];
  for (const file of pipelineFiles) {
    const parsed = parse(file);
    documents.push(...parsed.documents.map(inVersion3));
    if (parsed.problem !== undefined) unread.push(unreadable(parsed.problem, parsed.text));
  }
  const together = togetherProblems(documents);
  const judged = documents.map((document) => ({ document, problems: check(document, together.get(document)) }));
  const refused = judged.filter(isRefused).map(({ document, problems }) => refusedDocument(document, problems));
  return {
    pipelines: judged
      .filter((one) => !isRefused(one))
      .map(({ document }) => desiredPipeline(document))
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

function isRefused({ problems }: { problems: readonly Problem[] }): boolean {
  return problems.some(({ severity }) => severity === "error");
}

function unreadable(problem: Problem, text = ""): RefusedDocument {
  const lines = text.matchAll(/^[ \t]*["']?pipeline_id["']?[ \t]*:[ \t]*["']?([a-z][a-z0-9-]{4,39})\b/gm);
  const pipeline_ids = new Set([...lines].map(([, id = ""]) => id));
  return {
    file: problem.file,
    line: problem.line,
    freezesFile: true,
    pipeline_ids: [...pipeline_ids],
    problems: [problem],
  };
}

function refusedDocument(document: Document, problems: Problem[]): RefusedDocument {
  const { file, line } = document.place();
  const pipeline_ids = pipelineIdsOf(document);
  return { file, line, freezesFile: pipeline_ids.length === 0, pipeline_ids, problems };
}

function desiredPipeline(document: Document): DesiredPipeline {
  const written = document.value as PipelineV3;
  const config = normalise(written);
  const { file, line } = document.place();
  return {
    pipeline_id: config.pipeline_id,
    file,
    line,
    config,
    options: engineOptions(written),
    directives: directivesOf(written),
    document: written,
    place: placeIn(document, config),
  };
}

function directivesOf(written: PipelineV3): Directives {
  const given = written["x-sluice"] ?? {};
  return {
    state: given.state ?? "Running",
    suspend: given.suspend ?? false,
    prune: given.prune ?? true,
    depends_on: given.depends_on ?? [],
    drift: given.drift ?? "correct",
    adopt: given.adopt ?? false,
    recreate: given.recreate ?? false,
  };
}
