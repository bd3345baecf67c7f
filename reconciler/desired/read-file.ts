import { engineOptions, normalise, type PipelineV3 } from "../../schemas/index.ts";
import { judge, told, type Judgement } from "../validate/check.ts";
import type { Problem } from "../validate/problem.ts";
import { claimsOf, type Claims } from "../validate/rules/claims.ts";
import type { DesiredPipeline, Directives, RefusedDocument } from "./desired-state.ts";
import type { Document } from "./document.ts";
import { parse } from "./parse.ts";
import { placeIn } from "./place-in.ts";
import type { SourceFile } from "./source-text.ts";
import { inVersion3 } from "./version-2.ts";

/** A file as it was read and judged by itself: the same for as long as its path and its bytes are. */
export interface ReadFile {
  file: SourceFile;
  documents: ReadDocument[];
  /** Where it could not be read. */
  unread?: RefusedDocument;
}

export interface ReadDocument {
  file: string;
  line: number;
  claims: Claims;
  judgement: Judgement;
  /** Absent where the document by itself is in error. */
  pipeline?: DesiredPipeline;
}

/**
 * Reads a file. The documents with the places of all their fields are not kept, as they take many times the memory of
 * the text: a place that is asked for is looked up in the text again.
 */
export function readFile(file: SourceFile): ReadFile {
  const { documents, problem, text } = parse(file);
  const read = documents.map((one, index) => {
    const document = inVersion3(one);
    return readDocument(document, again(file, index, document));
  });
  return { file, documents: read, ...(problem !== undefined && { unread: unreadable(problem, text) }) };
}

/** The document of a file at `index`, parsed again where it is not in memory any more. */
function again(file: SourceFile, index: number, document: Document): () => Document {
  let kept = new WeakRef(document);
  return () => {
    const known = kept.deref();
    if (known !== undefined) return known;
    const parsed = parse(file).documents[index];
    if (parsed === undefined) throw new Error(`${file.path}: expected its bytes to stay as they were read`);
    const found = inVersion3(parsed);
    kept = new WeakRef(found);
    return found;
  };
}

function readDocument(document: Document, reread: () => Document): ReadDocument {
  const { file, line } = document.place();
  const judgement = judge(document);
  const read = { file, line, claims: claimsOf(document), judgement };
  return isRefused(told(judgement)) ? read : { ...read, pipeline: desiredPipeline(document, reread) };
}

/** Whether a document of which this is said is not applied. */
export function isRefused(problems: readonly Problem[]): boolean {
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

function desiredPipeline(document: Document, reread: () => Document): DesiredPipeline {
  const written = document.value as PipelineV3;
  const config = normalise(written);
  const start = document.place();
  return {
    pipeline_id: config.pipeline_id,
    file: start.file,
    line: start.line,
    config,
    options: engineOptions(written),
    directives: directivesOf(written),
    document: written,
    place: (path) => (path.length === 0 ? start : placeIn(reread(), config)(path)),
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
