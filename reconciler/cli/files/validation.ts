import type { DesiredPipeline } from "../../desired/desired-state.ts";
import { review } from "../../desired/load.ts";
import type { SkippedFile } from "../../git/revision.ts";
import { excerptsOf } from "../../language/excerpt.ts";
import { problemsOrFault } from "../../language/fault.ts";
import { problem, type Problem } from "../../language/problem.ts";
import { checkedTests } from "../../pipeline-tests/test-problems.ts";
import { listed } from "../../plan/render/words.ts";
import { byPlace } from "../../validate/check.ts";
import type { Report } from "../../validate/formats/report.ts";
import { orphanedTest } from "../../validate/orphaned-tests.ts";
import { CliError } from "../invocation/cli-error.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { permissionsGiven } from "../invocation/references.ts";
import { environmentsOf, variableReader } from "../invocation/variables.ts";
import type { sinceBase as SinceBase } from "./since-base.ts";
import { secretProblems } from "../../secrets/secret-problems.ts";
import { existingFiles, fileAt, foldersText, pipelineFiles, testsAlone } from "./pipeline-files.ts";

/** The problems of the files that `paths` name, and the files that are not read as pipelines, though they look like it. */
export interface Validation extends Report {
  unread: SkippedFile[];
}

/** What servers say of valid pipelines. */
export type Ask = (pipelines: readonly DesiredPipeline[]) => Promise<Problem[]>;

/**
 * Reads and checks files, compares them with those of the base where `settings` name one, and asks `ask` about them: with
 * the values of each environment, where several are given.
 * Throws CliError where a path, or a variable that `settings` name, cannot be read, and where there is nothing to check;
 * SourceError where the base cannot be read.
 */
export async function validationOf(
  { settings, env, progress }: Pick<Invocation, "settings" | "env" | "progress">,
  paths: string[],
  ask: Ask = async () => [],
): Promise<Validation> {
  const { files, named, unread, tests } = await pipelineFiles(paths);
  const alone = await testsAlone(tests);
  const read = await testProblems(tests.filter((path) => !alone.includes(path)));
  const ofTests = [...alone.map(orphanedTest), ...read];
  const onFile = (index: number): void => progress.step(`${index} of ${files.length} files`);
  const ref = settings.optional("validate_base");
  const permissions = permissionsGiven(settings);
  const all: OfEnvironment[] = [];
  for (const { name = "", settings: own } of environmentsOf(settings)) {
    const found = review(files, named, await variableReader(own)(), onFile);
    const base = ref === undefined ? undefined : await readBase(ref, paths, { settings: own, env });
    const ofFiles = [...found.problems, ...secretProblems(found.pipelines, permissions, base?.pipelines)];
    const ofBase = base === undefined ? [] : [...base.problems, ...secretProblems(base.pipelines, permissions)];
    const { news, known } = bySide(ofFiles, ofBase);
    all.push({ name, news: [...news, ...(base?.moved ?? []), ...(await ask(found.pipelines))], known });
  }
  const problems = [...ofTests, ...joined(all, "news")].toSorted(byPlace);
  // A job that names a folder without pipelines would else be green for ever.
  if (files.length + tests.length + unread.length + problems.length === 0) throw nothingIn(paths);
  const excerpts = excerptsOf(files, problems);
  const known = joined(all, "known").length;
  const report = { problems, files: files.map(({ path }) => path), root: process.cwd(), excerpts, unread };
  return ref === undefined || known === 0 ? report : { ...report, known: { count: known, base: ref } };
}

/** What was found with the values of one environment. */
interface OfEnvironment {
  name: string;
  news: Problem[];
  /** What the base has as well. */
  known: Problem[];
}

/** The problems of all environments, each once; one that not all of them have says which do. */
function joined(all: readonly OfEnvironment[], kind: "news" | "known"): Problem[] {
  if (all.length === 1) return all[0]![kind];
  const found = new Map<string, { one: Problem; names: Set<string> }>();
  for (const { name, [kind]: problems } of all) {
    for (const one of problems) {
      const key = JSON.stringify([keyOf(one), one.line, one.column]);
      const names = found.get(key)?.names ?? new Set();
      found.set(key, { one, names: names.add(name) });
    }
  }
  return [...found.values()].map(({ one, names }) =>
    names.size === all.length ? one : { ...one, message: `${one.message}, in ${listed([...names])}` },
  );
}

/** What a problem says, wherever in its file. */
function keyOf({ code, file, message }: Problem): string {
  return JSON.stringify([code, file, message]);
}

/** Problems, and apart from them the warnings and notes that the base has as well, wherever in their files. */
function bySide(problems: readonly Problem[], base: readonly Problem[]): Pick<OfEnvironment, "news" | "known"> {
  const before = new Set(base.map(keyOf));
  const isKnown = (one: Problem): boolean => one.severity !== "error" && before.has(keyOf(one));
  return { news: problems.filter((one) => !isKnown(one)), known: problems.filter(isKnown) };
}

function nothingIn(paths: readonly string[]): CliError {
  const where = foldersText(paths);
  return new CliError(`expected pipeline files in ${where}, found none: name the folder that holds them`);
}

/** What keeps the tests beside pipelines from being read. No line of them is shown: they hold events. */
async function testProblems(paths: readonly string[]): Promise<Problem[]> {
  const files = await Promise.all((await existingFiles(paths)).map(fileAt));
  return files.flatMap((file) =>
    problemsOrFault(file.path, () => {
      const checked = checkedTests(file);
      return "problems" in checked ? checked.problems : [];
    }),
  );
}

/** Loads what reads Git only where it is asked for. */
async function readBase(...given: Parameters<typeof SinceBase>): ReturnType<typeof SinceBase> {
  const { sinceBase } = await import("./since-base.ts");
  return sinceBase(...given);
}

/** A report in which files that are not read are problems too. */
export function withUnread(report: Report, unread: readonly SkippedFile[]): Report {
  return { ...report, problems: [...report.problems, ...unread.map(notRead)].toSorted(byPlace) };
}

export function isValid({ problems, unread }: Validation): boolean {
  return unread.length === 0 && problems.every(({ severity }) => severity !== "error");
}

function notRead({ path: file, reason }: SkippedFile): Problem {
  const place = { file, line: 1, column: 1 };
  return problem("NOT_READ", place, {
    subject: "file",
    expected: "a file that can be read as a pipeline",
    found: reason,
  });
}
