import { lstat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { casesOf, type TestCase, type TestedFiles } from "../../pipeline-tests/cases.ts";
import { isTestFile, pipelinesOfTest, testsOfPipeline } from "../../validate/orphaned-tests.ts";
import { CliError } from "../invocation/cli-error.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { printable } from "../invocation/terminal.ts";
import { variableReader } from "../invocation/variables.ts";
import { existingFiles, fileAt, foldersText, pipelineFile, pipelineFiles } from "../files/pipeline-files.ts";

/**
 * The files of tests that `paths` name, and those beside pipeline files that they name, each with the file of its
 * pipelines. Throws CliError where there is no file of tests, for one without pipelines, and for one that is not read.
 */
export async function testedFiles(paths: readonly string[]): Promise<TestedFiles[]> {
  const { tests, named, unread } = await pipelineFiles([...paths]);
  const missed = unread.find(({ path, isFolder }) => isFolder === true || isTestFile(path));
  if (missed !== undefined)
    throw new CliError(`${missed.path}: expected to read the tests there, found ${missed.reason}`);
  const beside = await Promise.all([...named].map((path) => existingFiles(testsOfPipeline(path))));
  const found = [...new Map([...tests, ...beside.flat()].map((path) => [resolve(path), path])).values()];
  if (found.length === 0) {
    throw new CliError(
      `expected tests in ${foldersText(paths)}, found none: write them into NAME.test.yaml beside NAME.yaml`,
    );
  }
  return Promise.all(found.toSorted().map(pairOf));
}

async function pairOf(path: string): Promise<TestedFiles> {
  const [pipelines] = await existingFiles(pipelinesOfTest(path));
  if (pipelines === undefined)
    throw new CliError(
      `${path}: expected the pipeline that it tests beside it, in ${pipelinesOfTest(path)[0]}, found none`,
    );
  return { tests: await fileAt(path), pipelines: await pipelineFile(pipelines) };
}

/** The folders that hold what `paths` name. */
export async function foldersOf(paths: readonly string[]): Promise<string[]> {
  const folders = await Promise.all(
    paths.map(async (path) => ((await lstat(path)).isDirectory() ? path : dirname(join(".", path)))),
  );
  return [...new Set(folders)];
}

/** A test, its pipeline, and the files that they are in. */
export interface FileCase extends TestCase {
  of: TestedFiles;
}

/** The tests that `paths` and `--name` name. Throws CliError where there are none. */
export async function readCases(
  { settings }: Pick<Invocation, "settings">,
  paths: readonly string[],
): Promise<FileCase[]> {
  const variables = await variableReader(settings)();
  const name = settings.optional("test_name");
  const files = await testedFiles(paths);
  const cases = files.flatMap((of) => casesOf(of, variables, name).map((one) => ({ ...one, of })));
  if (cases.length > 0) return cases;
  const named = name === undefined ? "a test in the files of tests" : `a test whose name holds "${printable(name)}"`;
  throw new CliError(`expected ${named}, found none`);
}
