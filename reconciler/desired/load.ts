import { setImmediate as nextTurn } from "node:timers/promises";
import { byPlace, problemsOf } from "../validate/check.ts";
import { printable, problem, type Problem } from "../language/problem.ts";
import { secretFields } from "../../schemas/index.ts";
import { problemsBetween } from "../validate/between-documents.ts";
import type { DesiredPipeline, DesiredState, RefusedDocument } from "./desired-state.ts";
import { withoutIgnored } from "./ignore.ts";
import { isRefused, readFile, type ReadDocument, type ReadFile } from "./read-file.ts";
import type { SourceFile } from "../language/source-text.ts";
import { noVariables, type Variables } from "../language/variables.ts";

/** Milliseconds of reading after which the event loop gets a turn. */
const longestBlock = 20;

/**
 * The desired state of a folder. Never throws for the content of a file, and one file never affects the pipeline of
 * another, except that two documents with one pipeline_id are both refused. Files that `isPipelineFile` refuses are
 * left out.
 */
export function load(files: readonly SourceFile[], variables: Variables = noVariables): DesiredState {
  const { wanted, left } = sorted(files);
  return desiredState(
    wanted.map((file) => readFile(file, variables)),
    left,
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

/** As `validate`, and a warning for each secret that a valid pipeline refers to, so that a reviewer sees what it reads. */
export function review(...given: Parameters<typeof validate>): Problem[] {
  const [files, named = new Set(), variables = noVariables] = given;
  const { pipelines, problems } = withoutForeign(load(files, variables), named);
  return [...problems, ...pipelines.flatMap(secretsUsed)].toSorted(byPlace);
}

function secretsUsed(pipeline: DesiredPipeline): Problem[] {
  const { config, options } = pipeline;
  const { access_token } = options;
  const fields = secretFields(config);
  if (access_token?.includes("${") === true) {
    fields.push({ path: ["x-sluice", "access_token"], text: access_token, hosts: [] });
  }
  return fields.flatMap(({ path, text, hosts }) =>
    [...text.matchAll(/(?<!\$)\$\{(?:env|file):[^${}]+\}/g)].map(([reference]) => {
      const towards = hosts.length === 0 ? "" : ` towards ${hosts.join(", ")}`;
      return problem("SECRET_USED", pipeline.place(path), {
        path,
        expected: `an operator who allows ${config.pipeline_id} this secret${towards}, by references in the settings of sluice run`,
        found: printable(reference),
      });
    }),
  );
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
  #known: ReadonlyMap<string, ReadFile> = new Map();
  #variables = noVariables;

  /** Yields to the event loop meanwhile: reading ten thousand new files takes seconds. Rejects when `signal` aborts. */
  async load(
    files: readonly SourceFile[],
    signal: AbortSignal,
    variables: Variables = noVariables,
  ): Promise<DesiredState> {
    if (variables !== this.#variables) this.#known = new Map();
    this.#variables = variables;
    const read: ReadFile[] = [];
    const { wanted, left } = sorted(files);
    let until = performance.now() + longestBlock;
    for (const file of wanted) {
      read.push(this.#read(file));
      if (performance.now() < until) continue;
      await nextTurn();
      signal.throwIfAborted();
      until = performance.now() + longestBlock;
    }
    this.#known = new Map(read.map((one) => [one.file.path, one]));
    return desiredState(read, left);
  }

  #read(file: SourceFile): ReadFile {
    const known = this.#known.get(file.path);
    return known !== undefined && isSame(known.file.bytes, file.bytes) ? known : readFile(file, this.#variables);
  }
}

function isSame(before: Uint8Array, now: Uint8Array): boolean {
  return before === now || Buffer.compare(before, now) === 0;
}

/** Files that are not read. */
interface Left {
  /** Paths that a pattern of `.sluiceignore` hits. */
  ignored: readonly string[];
  hidden: readonly SourceFile[];
}

/** Files that may be pipelines, and those that are left out. */
function sorted(files: readonly SourceFile[]): { wanted: SourceFile[]; left: Left } {
  const { files: kept, ignored } = withoutIgnored(files);
  return {
    wanted: kept.filter(({ path }) => isPipelineFile(path)),
    left: { ignored, hidden: kept.filter(({ path }) => isHidden(path)) },
  };
}

/** Checks all documents together, which costs little compared with reading one. */
function desiredState(files: readonly ReadFile[], { ignored, hidden }: Left): DesiredState {
  const documents = files.flatMap((file) => file.documents);
  const unread = files.flatMap((file) => file.unread ?? []);
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
 * Whether a file below the watched path is read: YAML and JSON, in capitals too, except hidden files and folders and
 * `sluice.yaml`.
 */
export function isPipelineFile(path: string): boolean {
  return !isBelowHidden(path) && hasExtension(path) && !/(^|\/)sluice\.ya?ml$/i.test(path);
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

function refusedDocument({ file, line, claims }: ReadDocument, problems: readonly Problem[]): RefusedDocument {
  const { pipeline_ids } = claims;
  const isForeign = problems.some(({ code }) => code === "NOT_A_PIPELINE");
  const refused = { file, line, freezesFile: pipeline_ids.length === 0, pipeline_ids, problems: [...problems] };
  return isForeign ? { ...refused, isForeign } : refused;
}
