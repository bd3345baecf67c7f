import { isDeepStrictEqual } from "node:util";
import { byPlace, problemsOf } from "../validate/check.ts";
import { problemsOrFault } from "../language/fault.ts";
import type { Problem } from "../language/problem.ts";
import { problemsBetween } from "../validate/between-documents.ts";
import { createdOrder } from "../validate/dedup-order.ts";
import { beyondDocuments, mostDocuments, ProblemAllowance } from "./allowance.ts";
import type { DesiredPipeline, DesiredState, RefusedDocument } from "./desired-state.ts";
import { costlyRules, ignoredHere, nothingIgnored, rulesAmong, type Ignored } from "./ignore.ts";
import { desiredPipeline } from "./desired-pipeline.ts";
import { readerInThisThread, type FileReader } from "./file-reader.ts";
import { FileAssembly, piecesOf, type FileToRead, type ReadFile } from "./pieces.ts";
import { isRefused, type ReadDocument } from "./read-file.ts";
import { isTestFile } from "../validate/orphaned-tests.ts";
import type { SourceFile } from "../language/source-text.ts";
import { noVariables, type Variables } from "../language/variables.ts";

/**
 * The desired state of a folder. Never throws for the content of a file, and one file never affects the pipeline of
 * another, except that two documents with one pipeline_id are both refused. Files that `isPipelineFile` refuses are
 * left out.
 */
export function load(
  files: readonly SourceFile[],
  variables: Variables = noVariables,
  onFile?: (index: number) => void,
): DesiredState {
  const ignored = ignoredHere(rulesAmong(files), pathsOf(files));
  const wanted = wantedOf(files, ignored);
  const assembly = new FileAssembly();
  const read = [...piecesOf(wanted, variables, onFile)].flatMap((piece) => assembly.add(piece) ?? []);
  const room = new Room();
  return desiredState(
    read.map((one, index) => room.admit(loadedFile(wanted[index]!, one))),
    ignored,
  );
}

/**
 * Every problem of files, warnings included, by file, line and column. `named` are the paths of files that were named
 * themselves, and not by their folder: they have to be pipelines.
 */
export function validate(
  files: readonly SourceFile[],
  named: ReadonlySet<string> = new Set(),
  variables: Variables = noVariables,
): Problem[] {
  return withoutForeign(load(files, variables), named).problems;
}

/**
 * The valid pipelines, and the problems as of `validate`, with a note on each table that is created without an order, so that
 * a reviewer sees what is made.
 * `onFile` is called before each file is read.
 */
export function review(
  files: readonly SourceFile[],
  named: ReadonlySet<string>,
  variables: Variables,
  onFile: (index: number) => void,
): Pick<DesiredState, "pipelines" | "problems"> {
  return reviewOf(withoutForeign(load(files, variables, onFile), named));
}

/** The same of files that are loaded. */
export function reviewOf({ pipelines, problems }: DesiredState): Pick<DesiredState, "pipelines" | "problems"> {
  const orders = pipelines.flatMap((one) => problemsOrFault(one.file, () => createdOrder(one)));
  return { pipelines, problems: [...problems, ...orders].toSorted(byPlace) };
}

/**
 * The desired state without documents of other tools, except in files that are `claimed`, since they held a pipeline
 * before: such a file changes no pipeline and holds no deletion up, and is only a note.
 */
export function withoutForeign(desired: DesiredState, claimed: ReadonlySet<string>): DesiredState {
  const foreign = desired.refused.filter(({ isForeign, file }) => isForeign === true && !claimed.has(file));
  if (foreign.length === 0) return desired;
  const left = new Set(foreign);
  const notes = new Map(foreign.flatMap(({ problems }) => problems.map((one, at) => [one, at] as const)));
  const problems = desired.problems.flatMap((one): Problem[] => {
    const at = notes.get(one);
    if (at === undefined) return [one];
    return at === 0 ? [{ ...one, severity: "info" }] : [];
  });
  return { ...desired, refused: desired.refused.filter((one) => !left.has(one)), problems };
}

/**
 * Loads one revision after the other: a file with the same path and the same bytes as last time is not read again while
 * the variables are the same object, and its pipelines are the same objects. The result is that of `load`.
 */
export class Loader {
  readonly #reader: FileReader;
  #known: ReadonlyMap<string, LoadedFile> = new Map();
  #variables = noVariables;
  #ignoring: { rules: readonly SourceFile[]; paths: readonly string[]; found: Ignored } = {
    rules: [],
    paths: [],
    found: nothingIgnored,
  };

  constructor(reader: FileReader = readerInThisThread) {
    this.#reader = reader;
  }

  /** `unread`: further paths that a `.sluiceignore` may name. Rejects when `signal` aborts. */
  async load(
    files: readonly SourceFile[],
    signal: AbortSignal,
    variables: Variables = noVariables,
    unread: readonly string[] = [],
  ): Promise<DesiredState> {
    if (variables !== this.#variables) this.#known = new Map();
    this.#variables = variables;
    const ignored = await this.#ignored(files, unread, signal);
    const wanted = wantedOf(files, ignored);
    const room = new Room();
    const loaded = wanted.map((file) => this.#knownOf(file)).map((known) => known && room.admit(known));
    const places = [...loaded.keys()].filter((index) => loaded[index] === undefined);
    const unknown = places.map((index) => wanted[index]!);
    let done = 0;
    for await (const read of this.#reader.read(unknown, variables, signal)) {
      loaded[places[done]!] = room.admit(loadedFile(unknown[done]!, read));
      done += 1;
    }
    const complete = loaded.flatMap((one) => one ?? []);
    // A shortened one is read again: another revision may have room for it.
    this.#known = new Map(complete.flatMap((one) => (one.isShortened === true ? [] : [[one.file.path, one]])));
    return desiredState(complete, ignored);
  }

  /** The same as last time while the rules and the paths are the same. */
  async #ignored(files: readonly SourceFile[], unread: readonly string[], signal: AbortSignal): Promise<Ignored> {
    const rules = rulesAmong(files);
    if (rules.length === 0) return nothingIgnored;
    const paths = [...pathsOf(files), ...unread];
    const known = this.#ignoring;
    const isKnown =
      isDeepStrictEqual(known.paths, paths) && rules.every(({ bytes }, at) => isSame(known.rules[at]!.bytes, bytes));
    if (!isKnown) this.#ignoring = { rules, paths, found: await this.#reader.ignored(rules, paths, signal) };
    return this.#ignoring.found;
  }

  #knownOf(file: SourceFile): LoadedFile | undefined {
    const known = this.#known.get(file.path);
    return known !== undefined && isSame(known.file.bytes, file.bytes) ? known : undefined;
  }
}

function pathsOf(files: readonly SourceFile[]): string[] {
  return files.map(({ path }) => path);
}

function isSame(before: Uint8Array, now: Uint8Array): boolean {
  return before === now || Buffer.compare(before, now) === 0;
}

/** A file that was read: the same object while its path and its bytes stay the same. */
interface LoadedFile extends Omit<ReadFile, "documents"> {
  file: SourceFile;
  documents: LoadedDocument[];
  /** Not all that it holds was kept, as all files together hold too much. */
  isShortened?: true;
}

interface LoadedDocument extends Omit<ReadDocument, "pipeline"> {
  pipeline?: DesiredPipeline;
}

function loadedFile(file: SourceFile, { documents, ...read }: ReadFile): LoadedFile {
  const loaded = documents.map(({ pipeline, ...document }): LoadedDocument => {
    return pipeline === undefined ? document : { ...document, pipeline: desiredPipeline(pipeline) };
  });
  return { file, documents: loaded, ...read };
}

/** Keeps what is read of all files within bounds. */
class Room {
  readonly #problems = ProblemAllowance.ofRevision();
  #documents = 0;
  /** Texts in hidden files that look like a pipeline_id. */
  #hidden = 0;

  admit(file: LoadedFile): LoadedFile {
    if (file.ids !== undefined) {
      this.#hidden += file.ids.length;
      return this.#hidden > mostDocuments ? { ...file, ids: [], isShortened: true } : file;
    }
    this.#documents += file.documents.length + (file.unread?.pipeline_ids.length ?? 0);
    if (this.#documents > mostDocuments) {
      return { file: file.file, documents: [], unread: beyondDocuments(file.file.path), isShortened: true };
    }
    const documents = file.documents.map((document): LoadedDocument => {
      const checked = this.#problems.admit(document.checked);
      return checked === document.checked ? document : { ...document, checked };
    });
    return documents.every((one, index) => one === file.documents[index])
      ? file
      : { ...file, documents, isShortened: true };
  }
}

/** Files that are looked at: those that may be pipelines, and hidden ones. */
function wantedOf(files: readonly SourceFile[], { paths }: Ignored): FileToRead[] {
  const ignored = new Set(paths);
  return files.flatMap(({ path, bytes }): FileToRead[] => {
    if (ignored.has(path)) return [];
    const isHiddenFile = isHidden(path) || isMisnamed(path, bytes);
    return isHiddenFile || isPipelineFile(path) ? [{ path, bytes, isHidden: isHiddenFile }] : [];
  });
}

/** Checks all documents together, which costs little compared with reading one. */
function desiredState(files: readonly LoadedFile[], { paths: ignored, costly }: Ignored): DesiredState {
  const documents = files.flatMap((file) => file.documents);
  const unread = [...costly.map(costlyRules), ...files.flatMap((file) => file.unread ?? [])];
  const hidden = files.flatMap(({ file, ids }) => (ids === undefined ? [] : [{ path: file.path, ids }]));
  const together = problemsBetween(documents.map(({ claims }) => claims));
  const checked = documents.map((document) => {
    const problems = problemsOf(document.checked, together.get(document.claims));
    return { document, problems, isRefused: isRefused(problems) };
  });
  const refused = checked.filter((one) => one.isRefused).map((one) => refusedDocument(one.document, one.problems));
  return {
    pipelines: checked
      .flatMap((one) => (one.isRefused ? [] : (one.document.pipeline ?? [])))
      .toSorted((a, b) => (a.pipeline_id < b.pipeline_id ? -1 : 1)),
    refused: [...unread, ...refused],
    problems: [...unread, ...checked].flatMap(({ problems }) => problems).toSorted(byPlace),
    ...(ignored.length > 0 && { ignored }),
    ...(hidden.length > 0 && { hidden }),
  };
}

/**
 * Whether a file below the watched path is read: YAML and JSON, in capitals too, except hidden files and folders, tests
 * of pipelines and `sluice.yaml`.
 */
export function isPipelineFile(path: string): boolean {
  return !isBelowHidden(path) && hasExtension(path) && !isTestFile(path) && !/(^|\/)sluice\.ya?ml$/i.test(path);
}

/** Whether a file is a pipeline all the same by its first keys: its pipeline is kept, and not deleted. */
function isMisnamed(path: string, bytes: Uint8Array): boolean {
  if (!isTestFile(path)) return false;
  const text = Buffer.from(bytes).toString("utf8");
  return /^[ \t]*"?version"?[ \t]*:/m.test(text) && /^[ \t]*"?sink"?[ \t]*:/m.test(text);
}

/** Whether a file is not read because it, or a folder above it, is hidden. */
function isHidden(path: string): boolean {
  return isBelowHidden(path) && hasExtension(path);
}

function hasExtension(path: string): boolean {
  return /\.(ya?ml|json)$/i.test(path);
}

function isBelowHidden(path: string): boolean {
  return path.split("/").some((segment) => /^\.(?!\.?$)/.test(segment));
}

function refusedDocument({ file, line, claims }: LoadedDocument, problems: readonly Problem[]): RefusedDocument {
  const { pipeline_ids } = claims;
  const moved_from = claims.moved_from.flatMap(({ text }) => text ?? []);
  const isForeign = problems.some(({ code }) => code === "NOT_A_PIPELINE");
  const refused = {
    file,
    line,
    freezesFile: pipeline_ids.length === 0,
    pipeline_ids,
    ...(moved_from.length > 0 && { moved_from }),
    problems: [...problems],
  };
  return isForeign ? { ...refused, isForeign } : refused;
}
