import { engineOptions, normalise, type PipelineV3 } from "../../schemas/index.ts";
import { checkDocument, problemsOf, type CheckedDocument } from "../validate/check.ts";
import { fault } from "../language/fault.ts";
import { problem, type Place, type Problem } from "../language/problem.ts";
import type { Places } from "../language/places.ts";
import { withVariables, type Variables } from "../language/variables.ts";
import { claimsOf, type Claims } from "../validate/claims.ts";
import { defaultDirectives, type DesiredPipeline, type Directives, type RefusedDocument } from "./desired-state.ts";
import type { Document } from "../language/document.ts";
import { maxDocuments, maxFileBytes } from "../language/limits.ts";
import { parse } from "../language/parse.ts";
import type { SourceFile } from "../language/source-text.ts";
import { inVersion3 } from "../migrate/document.ts";

/** A document, read and checked alone: plain data, which goes from thread to thread. */
export interface ReadDocument {
  file: string;
  line: number;
  claims: Claims;
  checked: CheckedDocument;
  /** Absent where the document alone has an error. */
  pipeline?: ReadPipeline;
}

/** A pipeline as plain data: the places of its fields as a table. */
export interface ReadPipeline extends Omit<DesiredPipeline, "place" | "variables"> {
  start: Place;
  places: Places;
}

/** The documents of a file one after the other, with the values of its variables; returns why it cannot be read at all. */
export function* documentsOf(
  file: SourceFile,
  variables: Variables,
): Generator<ReadDocument, RefusedDocument | undefined> {
  try {
    const { documents, problem: obstacle, text } = parse(file);
    for (const parsed of documents) yield readDocument(withVariables(inVersion3(parsed), variables));
    return obstacle === undefined ? undefined : unreadable(obstacle, text);
  } catch (error) {
    return unreadable(fault(file.path, error), textOf(file));
  }
}

function readDocument(document: Document): ReadDocument {
  const start = document.place();
  const checked = checkDocument(document);
  const read = { file: start.file, line: start.line, claims: claimsOf(document), checked };
  return isRefused(problemsOf(checked)) ? read : { ...read, pipeline: readPipeline(document, start) };
}

/** Whether a document with these problems is not applied. */
export function isRefused(problems: readonly Problem[]): boolean {
  return problems.some(({ severity }) => severity === "error");
}

/** The texts that look like a pipeline_id, each once, in a text that is not parsed; at most as many as a file may have documents. */
export function idsIn(text: string): string[] {
  const lines = text.matchAll(/^[ \t]*["']?pipeline_id["']?[ \t]*:[ \t]*["']?([a-z][a-z0-9-]{4,39})\b/gm);
  const ids = new Set<string>();
  for (const [, id = ""] of lines) if (ids.add(id).size === maxDocuments) break;
  return [...ids];
}

/** The texts that look like a former id: all from the key up to the next one. */
function formerIdsIn(text: string): string[] {
  const found = text.matchAll(/^[ \t]*["']?moved_from["']?[ \t]*:([^:]{0,1000})/gm);
  const ids = new Set<string>();
  for (const [, written = ""] of found) {
    for (const [id] of written.matchAll(/\b[a-z][a-z0-9-]{4,39}\b/g)) ids.add(id);
    if (ids.size >= maxDocuments) break;
  }
  return [...ids];
}

function unreadable(obstacle: Problem, text = ""): RefusedDocument {
  const { file, line } = obstacle;
  const moved_from = formerIdsIn(text);
  const former = moved_from.length > 0 && { moved_from };
  return { file, line, freezesFile: true, pipeline_ids: idsIn(text), ...former, problems: [obstacle] };
}

/** A file whose reading was ended because it took too much time or memory. */
export function tooCostly(file: SourceFile): RefusedDocument {
  const obstacle = problem(
    "FILE_COST",
    { file: file.path, line: 1, column: 1 },
    {
      subject: "file",
      expected: "a file that is read and checked within the time and memory for one file",
      found: "more",
      suggestion: "divide it into several files, and shorten its expressions and patterns",
    },
  );
  return unreadable(obstacle, textOf(file));
}

function textOf({ bytes }: SourceFile): string {
  return Buffer.from(bytes.subarray(0, maxFileBytes)).toString("utf8");
}

function readPipeline(document: Document, start: Place): ReadPipeline {
  const written = document.value as PipelineV3;
  const config = normalise(written);
  return {
    pipeline_id: config.pipeline_id,
    file: start.file,
    line: start.line,
    config,
    options: engineOptions(written),
    directives: directivesOf(written),
    document: written,
    start,
    places: document.places(),
  };
}

function directivesOf(written: PipelineV3): Directives {
  const given = written["x-sluice"] ?? {};
  const { state, suspend, prune, depends_on, drift, adopt, recreate, moved_from } = { ...defaultDirectives, ...given };
  return { state, suspend, prune, depends_on, drift, adopt, recreate, moved_from: [moved_from].flat() };
}
