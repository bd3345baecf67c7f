import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { pipelineIn } from "../../pipeline-tests/cases.ts";
import { documentOfChanges } from "../../pipeline-tests/document.ts";
import { compareTest, type ComparedCase } from "../../pipeline-tests/run-tests.ts";
import { linesOfChanges } from "../../pipeline-tests/text.ts";
import type { Trials } from "../../pipeline-tests/trials.ts";
import { WorkTree } from "../../work-tree/work-tree.ts";
import { CliError } from "../invocation/cli-error.ts";
import { documentOf, type ExitCode, formatOf, type Invocation } from "../invocation/invocation.ts";
import { printableLines } from "../invocation/terminal.ts";
import { variableReader } from "../invocation/variables.ts";
import { type FileCase, readCases } from "./files.ts";
import { printLines, runShown } from "./output.ts";

/** Milliseconds that reading the files of the base may take. */
const longest = 120_000;

/** `--base REF`: which events have another outcome than with the pipelines of the commit at which the head left it. */
export async function compareWithBase(
  invocation: Invocation,
  trials: Trials,
  paths: readonly string[],
  ref: string,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { settings, terminal, progress } = invocation;
  const format = formatOf(settings, "test_format");
  if (format === "junit") throw new CliError("expected --format text, json or yaml with --base, found junit");
  const cases = await readCases(invocation, paths);
  progress.step(`reading the files of ${ref}`);
  const bases = await baseReader(invocation, paths, ref);
  const compared: ComparedCase[] = [];
  // One after the other: each reads its file by a process of Git.
  for (const one of cases) compared.push({ ...one, base: await bases(one) });
  const results = await runShown(invocation, compared, signal, (one) => compareTest(trials, one));
  if (format === "text") printLines(linesOfChanges(results, ref), invocation);
  else terminal.out(printableLines(documentOf(documentOfChanges(results, ref), format)));
  if (signal.aborted || results.some(({ status }) => status === "broken")) return 1;
  return results.some((one) => one.status === "compared" && one.changes.length > 0) ? 2 : 0;
}

/** Finds the pipeline of a case at the base; undefined where its file was not there, or has no such valid pipeline. */
async function baseReader(
  { settings, env }: Invocation,
  [first = "."]: readonly string[],
  ref: string,
): Promise<(one: FileCase) => Promise<ComparedCase["base"]>> {
  const isFolder = (await stat(first)).isDirectory();
  const tree = await WorkTree.around(isFolder ? first : dirname(first), env, AbortSignal.timeout(longest));
  const from = await tree.commit(ref);
  const left = (await tree.branchPoint(from, await tree.commit("HEAD"))) ?? from;
  const variables = await variableReader(settings)();
  return async ({ of: { pipelines }, test: { pipeline_id }, pipeline }) => {
    const text = await tree.textAt(left, pipelines.path);
    if (text === undefined) return undefined;
    const id = pipeline_id ?? ("failure" in pipeline ? undefined : pipeline.pipeline_id);
    const found = pipelineIn({ path: pipelines.path, bytes: Buffer.from(text) }, variables)(id);
    return "failure" in found ? undefined : found;
  };
}
