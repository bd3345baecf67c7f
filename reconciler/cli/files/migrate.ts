import type { Document } from "../../language/document.ts";
import { parse } from "../../language/parse.ts";
import { type Converted, convertDocument, isObstacle, isVersion2 } from "../../migrate/document.ts";
import type { MigrateOptions } from "../../migrate/convert.ts";
import { filterReview } from "../../migrate/filter-review.ts";
import { valueOf } from "../../migrate/part.ts";
import { yamlText } from "../../migrate/yaml-text.ts";
import { byPlace, check } from "../../validate/check.ts";
import { textLine } from "../../validate/formats/text.ts";
import { found, problem, type Problem } from "../../language/problem.ts";
import { View } from "../../language/view.ts";
import { CliError } from "../invocation/cli-error.ts";
import { fault } from "../../language/fault.ts";
import { type ExitCode, type Invocation, show } from "../invocation/invocation.ts";
import { pipelineFile } from "./pipeline-files.ts";
import { printableLines } from "../invocation/terminal.ts";
import { type DocumentReview, type ReviewedFile, eventsBeside, eventsIn, writeReview } from "./migration-review.ts";
import { replaceFile } from "./replace-file.ts";

/** The conversion of a document. */
interface Result {
  document: Document;
  /** Its v3 form; undefined for one that is v3 already. */
  converted?: Converted;
  problems: Problem[];
}

/**
 * `sluice migrate FILE...`: prints the files in v3, or writes each in its place. A file with a document that cannot be
 * converted is neither printed nor written. The exit code is 1 if there was one, or if a result is not valid yet.
 */
export async function migrate(invocation: Invocation, paths: string[]): Promise<ExitCode> {
  const { settings, terminal, progress } = invocation;
  const options = { keepBehaviour: settings.isOn("keep_behaviour") };
  const write = settings.isOn("migrate_write");
  const list = settings.optional("migrate_review");
  const given = await eventsIn(settings.optional("migrate_samples"));
  const printed: string[] = [];
  const files: (MigratedFile & { file: string })[] = [];
  const reviewed: ReviewedFile[] = [];
  let code: ExitCode = 0;
  for (const [index, path] of paths.entries()) {
    progress.step(`${index} of ${paths.length} files`);
    const samples = list === undefined ? [] : [...(await eventsBeside(path)), ...given];
    const { review, ...migrated } = await migrateFile(path, write, options, samples).catch((error: unknown) =>
      failedOn(path, error),
    );
    const { text, problems, notes } = migrated;
    files.push({ file: path, ...migrated });
    reviewed.push({ file: path, problems, documents: review ?? [] });
    for (const one of problems.toSorted(byPlace)) terminal.err(printableLines(textLine(one)));
    for (const note of notes) terminal.err(printableLines(note));
    if (text !== undefined && !write) printed.push(text);
    if (text === undefined || problems.some(({ severity }) => severity === "error")) code = 1;
  }
  if (printed.length > 0 || settings.text("output") !== "text")
    show(invocation, { files }, () => printed.join("---\n").replace(/\n$/, ""));
  if (list !== undefined) await writeReview(list, reviewed);
  return code;
}

interface MigratedFile {
  /** What a person has to look at; absent where nothing was converted. */
  review?: DocumentReview[];
  /** Undefined where the file cannot be converted. */
  text?: string;
  problems: Problem[];
  notes: string[];
}

/** A fault of Sluice keeps no other file from being migrated. */
function failedOn(path: string, error: unknown): MigratedFile {
  if (error instanceof CliError) throw error;
  return { problems: [fault(path, error)], notes: [] };
}

async function migrateFile(
  path: string,
  write: boolean,
  options: MigrateOptions,
  samples: readonly string[],
): Promise<MigratedFile> {
  const file = await pipelineFile(path);
  const { documents, problem: unread, text: original = "" } = parse(file);
  if (unread !== undefined) return { problems: [unread], notes: [] };
  const results = documents.map((document) => resultOf(document, options));
  const problems = results.flatMap((result) => result?.problems ?? []);
  if (results.some(({ document, converted }) => converted === undefined && !isVersion3(document)))
    return { problems, notes: [] };
  const isJson = /\.json$/i.test(path);
  const roots = results.map(({ converted }) => converted?.marked);
  const notes = results
    .filter(({ converted }) => converted === undefined)
    .map(({ document }) => alreadyVersion3(document));
  if (roots.every((root) => root === undefined)) return { text: original, problems, notes };
  const { text, lost } = yamlText(isJson ? "" : original, roots);
  problems.push(
    ...results.flatMap(({ document }, index) => (lost[index] ?? []).map((at) => lostComment(document, at))),
  );
  const review = results.flatMap((result) => reviewOf(result, samples));
  if (!write) return { text, problems, notes, review };
  const [first] = roots;
  await replaceFile(path, isJson && first !== undefined ? `${JSON.stringify(valueOf(first), undefined, 2)}\n` : text);
  return { text, problems, notes: [...notes, `${path}: written in v3`], review };
}

function reviewOf({ document, converted }: Result, samples: readonly string[]): DocumentReview[] {
  if (converted === undefined) return [];
  const filter = filterReview(document, converted.document, samples, Date.now());
  const pipeline_id = View.of(document).get("pipeline_id").text ?? "";
  return [{ pipeline_id, ...(filter !== undefined && { filter }) }];
}

function resultOf(document: Document, options: MigrateOptions): Result {
  if (isVersion3(document)) return { document, problems: [] };
  if (!isVersion2(document)) return { document, problems: [otherVersion(document)] };
  const converted = convertDocument(document, options);
  if (Array.isArray(converted)) return { document, problems: converted };
  const invalid = check(converted.document).filter(isObstacle);
  return { document, converted, problems: [...converted.problems, ...invalid] };
}

function isVersion3(document: Document): boolean {
  return View.of(document).get("version").text === "v3";
}

function otherVersion(document: Document): Problem {
  const version = View.of(document).get("version");
  return version.problem("VERSION", {
    expected: '"v2", which is converted, or "v3", which stays',
    found: found(version.value, version.path),
  });
}

function alreadyVersion3(document: Document): string {
  const { file, line } = document.place();
  return `${file}:${line}: left as it is: it is v3 already`;
}

function lostComment(document: Document, path: readonly (string | number)[]): Problem {
  const expected = "a field of v3 that its comment belongs to";
  return problem("V2_DROPPED", document.keyPlace(path), { path, expected, found: "none: the comment is left out" });
}
