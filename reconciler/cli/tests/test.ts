import { readFile } from "node:fs/promises";
import { Registry } from "prom-client";
import { EngineError } from "../../../engine/index.ts";
import { Folder } from "../../git/folder/folder.ts";
import { grouped } from "../../language/grouped.ts";
import type { TestCase } from "../../pipeline-tests/cases.ts";
import { documentOf as documentOfResults } from "../../pipeline-tests/document.ts";
import { junitOf } from "../../pipeline-tests/junit.ts";
import type { TestResult } from "../../pipeline-tests/result.ts";
import { runTest } from "../../pipeline-tests/run-tests.ts";
import { linesOf } from "../../pipeline-tests/text.ts";
import { Trials } from "../../pipeline-tests/trials.ts";
import { type Update, updated } from "../../pipeline-tests/update.ts";
import { CliError } from "../invocation/cli-error.ts";
import { documentOf, type ExitCode, formatOf, type Invocation } from "../invocation/invocation.ts";
import { printable, printableLines } from "../invocation/terminal.ts";
import { replaceFile } from "../files/replace-file.ts";
import { compareWithBase } from "./base.ts";
import { foldersOf, readCases, testedFiles } from "./files.ts";
import { printLines, runShown } from "./output.ts";

/** `sluice test [PATH...]`: runs the tests beside pipeline files, on the engine and the embedded ClickHouse. */
export async function test(invocation: Invocation, given: string[] = []): Promise<ExitCode> {
  const { settings } = invocation;
  const paths = given.length === 0 ? ["."] : given;
  const base = settings.optional("test_base");
  const isWatching = settings.isOn("test_watch");
  if (base !== undefined && (isWatching || settings.isOn("test_update")))
    throw new CliError("expected --base without --watch and --update: it compares, and tests nothing");
  // Files that are wrong are said before an engine is opened.
  await testedFiles(paths);
  const signal = invocation.untilStopped();
  invocation.progress.step("starting ClickHouse");
  const trials = await opened(settings.number("test_jobs"));
  try {
    if (base !== undefined) return await compareWithBase(invocation, trials, paths, base, signal);
    const code = await runOnce(invocation, trials, paths, signal);
    return isWatching ? await watch(invocation, trials, paths, signal) : signal.aborted ? 1 : code;
  } finally {
    await trials.close();
  }
}

async function opened(jobs: number): Promise<Trials> {
  try {
    return await Trials.open(new Registry(), jobs);
  } catch (error) {
    if (error instanceof EngineError) throw new CliError(error.message, { cause: error });
    throw error;
  }
}

async function runOnce(
  invocation: Invocation,
  trials: Trials,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<ExitCode> {
  const cases = await readCases(invocation, paths);
  const results = await runShown(invocation, cases, signal, (one) => runTest(trials, one));
  if (invocation.settings.isOn("test_update")) return update(invocation, cases, results);
  print(invocation, results);
  return results.every(({ status }) => status === "passed") ? 0 : 1;
}

/** Runs the tests again at each change, until it is stopped. */
async function watch(
  invocation: Invocation,
  trials: Trials,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<ExitCode> {
  const { terminal } = invocation;
  const changes = new Changes();
  const watched = (await foldersOf(paths)).map((path) => new Folder({ path }));
  await Promise.all(watched.map((folder) => folder.watch(() => changes.came())));
  try {
    terminal.err("Waiting for a change of the files; Ctrl-C ends.");
    while (await changes.next(signal)) {
      try {
        await runOnce(invocation, trials, paths, signal);
      } catch (error) {
        // A file may be half written, or renamed: the next change is looked at as well.
        if (!(error instanceof CliError)) throw error;
        terminal.err(`sluice: ${error.message}`);
      }
    }
    return 0;
  } finally {
    await Promise.all(watched.map((folder) => folder.close()));
  }
}

/** Changes of files, of which those that come during a run count as one. */
class Changes {
  #hasCome = false;
  #wake: () => void = () => undefined;

  came(): void {
    this.#hasCome = true;
    this.#wake();
  }

  /** Resolves with true at the next change, with false when `signal` aborts. */
  async next(signal: AbortSignal): Promise<boolean> {
    if (!this.#hasCome && !signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
    }
    this.#hasCome = false;
    return !signal.aborted;
  }
}

/** Writes what was found into the files of the tests that failed. */
async function update(
  { terminal }: Invocation,
  cases: readonly TestCase[],
  results: readonly TestResult[],
): Promise<ExitCode> {
  const updates = results.flatMap((result, index): Update[] => {
    const pipeline = cases[index]?.pipeline;
    const isNew = result.status === "passed" && result.test.expect === undefined;
    if (pipeline === undefined || "failure" in pipeline || !("found" in result)) return [];
    if (result.status === "passed" && !isNew) return [];
    const columns = pipeline.config.sink.mapping.map(({ column_name }) => column_name);
    const mismatches = result.status === "failed" ? result.mismatches : [];
    return [{ test: result.test, found: result.found, mismatches, columns }];
  });
  for (const [file, of] of grouped(updates, (one) => one.test.file)) {
    await replaceFile(file, updated(await readFile(file, "utf8"), of, /\.json$/i.test(file)));
    terminal.out(printable(`${file}: ${of.length} of its tests updated`));
  }
  if (updates.length === 0) terminal.out("Nothing to update.");
  const broken = results.filter(({ status }) => status === "broken");
  for (const line of broken.length === 0 ? [] : linesOf(broken).slice(0, -1)) terminal.err(printable(line.text));
  return broken.length === 0 ? 0 : 1;
}

function print(invocation: Invocation, results: readonly TestResult[]): void {
  const { settings, terminal } = invocation;
  const format = formatOf(settings, "test_format");
  if (format === "junit") terminal.out(printableLines(junitOf(results)));
  else if (format === "text") printLines(linesOf(results), invocation);
  else terminal.out(printableLines(documentOf(documentOfResults(results), format)));
}
