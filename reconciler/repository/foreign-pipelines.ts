import { isObject, type PipelineV3 } from "../../schemas/index.ts";
import type { Document } from "../language/document.ts";
import { fault } from "../language/fault.ts";
import { parse } from "../language/parse.ts";
import { problem, type Problem } from "../language/problem.ts";
import type { SourceFile } from "../language/source-text.ts";
import { convertDocument, isObstacle, isVersion2 } from "../migrate/document.ts";
import type { MigrateOptions } from "../migrate/convert.ts";
import { valueOf } from "../migrate/part.ts";
import { check } from "../validate/check.ts";

/** What a document from another engine is as a file. */
export interface ForeignPipelines {
  pipelines: PipelineV3[];
  /** Errors of what cannot be read, or cannot run yet, and what a person has to look at in files from v2. */
  problems: Problem[];
}

/**
 * The pipelines of a file, or of an answer, of version v2 or v3: one, several documents, or a list of them. Never throws: a
 * fault of Sluice on one file keeps no other from being read.
 */
export function foreignPipelines(file: SourceFile, options: MigrateOptions = {}): ForeignPipelines {
  try {
    const { documents, problem: unread } = parse(file);
    if (unread !== undefined) return { pipelines: [], problems: [unread] };
    return joined(documents.map((document) => pipelinesOf(document, file.path, options)));
  } catch (error) {
    return { pipelines: [], problems: [fault(file.path, error)] };
  }
}

function pipelinesOf(document: Document, path: string, options: MigrateOptions): ForeignPipelines {
  const { value } = document;
  if (Array.isArray(value)) return joined(value.map((one: unknown) => foreignPipelines(asFile(path, one), options)));
  // Older engines answer without it.
  if (isObject(value) && value["version"] === undefined && ("source" in value || "sources" in value)) {
    return foreignPipelines(asFile(path, { version: "source" in value ? "v2" : "v3", ...value }), options);
  }
  return isVersion2(document) ? convertedPipeline(document, options) : pipelineOf(document, document.value, []);
}

function asFile(path: string, value: unknown): SourceFile {
  return { path, bytes: Buffer.from(JSON.stringify(value)) };
}

function convertedPipeline(document: Document, options: MigrateOptions): ForeignPipelines {
  const converted = convertDocument(document, options);
  if (Array.isArray(converted)) return { pipelines: [], problems: converted };
  return pipelineOf(converted.document, valueOf(converted.marked), converted.problems);
}

function pipelineOf(document: Document, value: unknown, remarks: readonly Problem[]): ForeignPipelines {
  const errors = check(document).filter(({ severity }) => severity === "error");
  return { pipelines: errors.some(isObstacle) ? [] : [value as PipelineV3], problems: [...remarks, ...errors] };
}

function joined(all: readonly ForeignPipelines[]): ForeignPipelines {
  return { pipelines: all.flatMap(({ pipelines }) => pipelines), problems: all.flatMap(({ problems }) => problems) };
}

/** Two pipelines with one id, of which only the first becomes a file. */
export function sameId(pipeline_id: string, path: string): Problem {
  return problem(
    "DUPLICATE_PIPELINE_ID",
    { file: path, line: 1, column: 1 },
    { subject: "pipeline_id", expected: "an id that only one of the pipelines has", found: `${pipeline_id} again` },
  );
}
