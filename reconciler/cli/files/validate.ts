import { review } from "../../desired/load.ts";
import type { SkippedFile } from "../../git/revision.ts";
import { excerptsOf } from "../../language/excerpt.ts";
import { problem, type Problem } from "../../language/problem.ts";
import { byPlace } from "../../validate/check.ts";
import { format, type Format } from "../../validate/formats/format.ts";
import { orphanedTest } from "../../validate/orphaned-tests.ts";
import type { ExitCode, Invocation } from "../invocation/invocation.ts";
import { pipelineFiles, testsAlone } from "./pipeline-files.ts";
import { variableReader } from "../invocation/variables.ts";
import { printable, printableLines } from "../invocation/terminal.ts";

/** `sluice validate [PATH...]`: prints the problems of pipeline files, without running them. */
export async function validate({ settings, terminal }: Invocation, paths: string[] = []): Promise<ExitCode> {
  const { files, named, unread, tests } = await pipelineFiles(paths.length === 0 ? ["."] : paths);
  const variables = await variableReader(settings)();
  const orphaned = (await testsAlone(tests)).map(orphanedTest);
  const as = settings.text("validate_format") as Format;
  // On a terminal they are told beside the report.
  const left = as === "text" ? [] : unread.map(notRead);
  const problems = [...review(files, named, variables), ...orphaned, ...left].toSorted(byPlace);
  const excerpts = excerptsOf(files, problems);
  const checked = files.map(({ path }) => path);
  const text = format({ problems, files: checked, root: process.cwd(), excerpts }, as);
  terminal.out(printableLines(text.replace(/\n$/, "")));
  for (const { path, reason } of unread) terminal.err(printable(`${path}: not read: ${reason}`));
  return unread.length > 0 || problems.some(({ severity }) => severity === "error") ? 1 : 0;
}

function notRead({ path: file, reason }: SkippedFile): Problem {
  const place = { file, line: 1, column: 1 };
  return problem("NOT_READ", place, {
    subject: "file",
    expected: "a file that can be read as a pipeline",
    found: reason,
  });
}
