import { engineOptions, normalise, type Path, type PipelineConfig, type PipelineV3 } from "../../schemas/index.ts";
import { checkDocument, problemsOf, type CheckedDocument } from "../validate/check.ts";
import type { Problem } from "../language/problem.ts";
import { withVariables, type Variables } from "../language/variables.ts";
import { claimsOf, type Claims } from "../validate/claims.ts";
import type { DesiredPipeline, Directives, RefusedDocument } from "./desired-state.ts";
import type { Document } from "../language/document.ts";
import { parse } from "../language/parse.ts";
import type { SourceFile } from "../language/source-text.ts";
import { inVersion3 } from "../migrate/document.ts";

/** A file, read and checked alone: the same object while its path and its bytes stay the same. */
export interface ReadFile {
  file: SourceFile;
  documents: ReadDocument[];
  /** Present if it could not be read. */
  unread?: RefusedDocument;
}

export interface ReadDocument {
  file: string;
  line: number;
  claims: Claims;
  checked: CheckedDocument;
  /** Absent where the document alone has an error. */
  pipeline?: DesiredPipeline;
}

/**
 * Reads a file, with the values of its variables. The parsed documents are not kept, because the places of all fields
 * take many times the memory of the text: a place is looked up in the text again when it is needed.
 */
export function readFile(file: SourceFile, variables: Variables): ReadFile {
  const { documents, problem, text } = parse(file);
  const read = documents.map((parsed, index) => {
    const plain = inVersion3(parsed);
    const document = withVariables(plain, variables);
    const complete = (one: Document): Document => withVariables(inVersion3(one), variables);
    return readDocument(document, {
      hasVariables: document !== plain,
      reread: again(file, index, document, complete),
    });
  });
  return { file, documents: read, ...(problem !== undefined && { unread: unreadable(problem, text) }) };
}

/** The document of a file at `index`, parsed again where it is not in memory any more. */
function again(
  file: SourceFile,
  index: number,
  document: Document,
  complete: (parsed: Document) => Document,
): () => Document {
  let kept = new WeakRef(document);
  return () => {
    const known = kept.deref();
    if (known !== undefined) return known;
    const parsed = parse(file).documents[index];
    if (parsed === undefined) throw new Error(`${file.path}: expected its bytes to stay as they were read`);
    const found = complete(parsed);
    kept = new WeakRef(found);
    return found;
  };
}

/** What is known of a document beside its fields. */
interface Origin {
  hasVariables: boolean;
  reread: () => Document;
}

function readDocument(document: Document, origin: Origin): ReadDocument {
  const { file, line } = document.place();
  const checked = checkDocument(document);
  const read = { file, line, claims: claimsOf(document), checked };
  return isRefused(problemsOf(checked)) ? read : { ...read, pipeline: desiredPipeline(document, origin) };
}

/** Whether a document with these problems is not applied. */
export function isRefused(problems: readonly Problem[]): boolean {
  return problems.some(({ severity }) => severity === "error");
}

/** The texts that look like a pipeline_id, each once, in a text that is not parsed. */
export function idsIn(text: string): string[] {
  const lines = text.matchAll(/^[ \t]*["']?pipeline_id["']?[ \t]*:[ \t]*["']?([a-z][a-z0-9-]{4,39})\b/gm);
  return [...new Set([...lines].map(([, id = ""]) => id))];
}

function unreadable(problem: Problem, text = ""): RefusedDocument {
  return {
    file: problem.file,
    line: problem.line,
    freezesFile: true,
    pipeline_ids: idsIn(text),
    problems: [problem],
  };
}

function desiredPipeline(document: Document, { hasVariables, reread }: Origin): DesiredPipeline {
  const written = document.value as PipelineV3;
  const config = normalise(written);
  const start = document.place();
  const inFile = (path: Path): { parsed: Document; at: Path } => {
    const parsed = reread();
    return { parsed, at: writtenPath(parsed, config, path) };
  };
  return {
    pipeline_id: config.pipeline_id,
    file: start.file,
    line: start.line,
    config,
    options: engineOptions(written),
    directives: directivesOf(written),
    document: written,
    place: (path) => {
      if (path.length === 0) return start;
      const { parsed, at } = inFile(path);
      return parsed.place(at);
    },
    variables: (path) => {
      // Every difference asks, and most files have none.
      if (!hasVariables) return [];
      const { parsed, at } = inFile(path);
      return parsed.variables(at);
    },
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

/** Other spellings of a key in a file. */
const aliases: Readonly<Record<string, string>> = { max_age: "maxAge", max_bytes: "maxBytes", max_msgs: "maxMsgs" };

/**
 * The keys that identify an entry of a list; the first that it has counts, with its type and source where it has them.
 */
const names = ["column_name", "output_name", "name", "source_id", "type"] as const;

/**
 * Where a field of a canonical config is written in the document that it was made from: lists may stand in another order
 * there, and keys in another spelling. A default leads to nothing below the mapping that encloses it.
 */
function writtenPath(document: Document, config: PipelineConfig, path: Path): Path {
  const written: (string | number)[] = [];
  let canonical: unknown = config;
  let value: unknown = document.value;
  for (const segment of path) {
    const key: string | number = Array.isArray(value)
      ? indexOf(value, entry(canonical, segment))
      : spelling(value, segment);
    written.push(key);
    canonical = entry(canonical, segment);
    value = entry(value, key);
  }
  return written;
}

function entry(holder: unknown, key: string | number): unknown {
  return typeof holder === "object" && holder !== null && Object.hasOwn(holder, key)
    ? (holder as Record<string | number, unknown>)[key]
    : undefined;
}

function spelling(holder: unknown, key: string | number): string | number {
  const alias = aliases[key];
  return alias !== undefined && entry(holder, key) === undefined && entry(holder, alias) !== undefined ? alias : key;
}

/** The index of the entry that became `wanted`; -1 if there is none. */
function indexOf(entries: readonly unknown[], wanted: unknown): number {
  if (typeof wanted !== "object" || wanted === null) return entries.indexOf(wanted);
  const name = names.find((one) => entry(wanted, one) !== undefined) ?? "type";
  const keys = name === "source_id" ? ["source_id", "type"] : [name, "source_id"];
  return entries.findIndex((one) => keys.every((key) => nameOf(one, key) === entry(wanted, key)));
}

/** The output_name of a join's field is its name unless the file says otherwise. */
function nameOf(one: unknown, key: string): unknown {
  return entry(one, key) ?? (key === "output_name" ? entry(one, "name") : undefined);
}
