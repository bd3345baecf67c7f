import { writeFile } from "node:fs/promises";
import { type Problem, withSuggestion } from "../../language/problem.ts";
import type { SourceFile } from "../../language/source-text.ts";
import type { Fate, FilterReview } from "../../migrate/filter-review.ts";
import { readTests } from "../../pipeline-tests/read-tests.ts";
import { code, inline } from "../../preview/escape.ts";
import { CliError } from "../invocation/cli-error.ts";
import { readText } from "../invocation/settings-file.ts";
import { testsOfPipeline } from "../../validate/orphaned-tests.ts";
import { existingFiles, fileAt } from "./pipeline-files.ts";

/** What a person has to look at in a converted document. */
export interface DocumentReview {
  pipeline_id: string;
  filter?: FilterReview;
}

export interface ReviewedFile {
  file: string;
  problems: readonly Problem[];
  documents: readonly DocumentReview[];
}

/** Rows of one filter; those where v2 and v3 differ come first. */
const mostRows = 50;
/** Characters of an event that are shown. */
const longestEvent = 200;

/** The events of the tests beside a file, each as JSON. */
export async function eventsBeside(path: string): Promise<string[]> {
  const tests = await Promise.all((await existingFiles(testsOfPipeline(path))).map(fileAt));
  return tests.flatMap(eventsOf);
}

/** The lines of a file with an event in each; none without a file. */
export async function eventsIn(path: string | undefined): Promise<string[]> {
  return path === undefined ? [] : (await readText(path)).split("\n").filter((line) => line.trim() !== "");
}

function eventsOf(file: SourceFile): string[] {
  const read = readTests(file);
  if ("problems" in read) return [];
  return read.tests.flatMap(({ events }) => events.map(({ event, text }) => text ?? JSON.stringify(event, digits)));
}

/** Whole numbers that are too large for one are texts of JSON in no way: their nearest number is compared. */
function digits(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? Number(value) : value;
}

/** Throws CliError where the file cannot be written. */
export async function writeReview(path: string, files: readonly ReviewedFile[]): Promise<void> {
  try {
    await writeFile(path, reviewText(files));
  } catch (error) {
    throw new CliError(`${path}: cannot be written: name another file (${(error as Error).message})`, { cause: error });
  }
}

/** A list to work off, in Markdown. */
export function reviewText(files: readonly ReviewedFile[]): string {
  const sections = files
    .filter(({ problems, documents }) => problems.length > 0 || documents.some(({ filter }) => filter !== undefined))
    .map(sectionOf);
  const all = sections.length === 0 ? ["Nothing has to be reviewed."] : sections;
  return `# Files converted from version v2\n\n${all.join("\n\n")}\n`;
}

function sectionOf({ file, problems, documents }: ReviewedFile): string {
  const items = problems.map(
    (one) => `- [ ] ${code(`${one.line}:${one.column}`)} **${one.code}** ${inline(withSuggestion(one))}`,
  );
  const filters = documents.flatMap((one) =>
    one.filter === undefined ? [] : [filterText(one.pipeline_id, one.filter)],
  );
  return [`## ${inline(file)}`, ...(items.length > 0 ? [items.join("\n")] : []), ...filters].join("\n\n");
}

function filterText(pipeline_id: string, { before, after, samples }: FilterReview): string {
  const other = samples.filter((one) => one.before !== one.after);
  const shown = [...other, ...samples.filter((one) => one.before === one.after)].slice(0, mostRows);
  const left = samples.length - shown.length;
  return [
    `### The filter of ${inline(pipeline_id)}`,
    `Version v2 drops the events for which ${code(before)} is true, and v3 keeps those for which ${code(after)} is true. ${verdict(samples.length, other.length)}`,
    ...(shown.length === 0 ? [] : [tableOf(shown)]),
    ...(left === 0 ? [] : [`${left} more samples are not shown.`]),
  ].join("\n\n");
}

function verdict(all: number, other: number): string {
  if (all === 0)
    return "There are no sample events: write some into a file of tests beside it, or name a file with --samples.";
  if (other === 0) return `All ${all} samples end as before.`;
  return `**${other} of ${all} samples end differently.**`;
}

function tableOf(rows: FilterReview["samples"]): string {
  return ["| event | v2 | v3 |", "| --- | --- | --- |", ...rows.map(rowOf)].join("\n");
}

function rowOf({ event, before, after }: FilterReview["samples"][number]): string {
  return `| ${code(shortened(event))} | ${fates[before]} | ${before === after ? fates[after] : `**${fates[after]}**`} |`;
}

const fates: Readonly<Record<Fate, string>> = { kept: "kept", dropped: "dropped", fails: "cannot be evaluated" };

function shortened(event: string): string {
  return event.length > longestEvent ? `${event.slice(0, longestEvent)}…` : event;
}
