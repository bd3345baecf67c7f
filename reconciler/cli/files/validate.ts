import { format, type Format } from "../../validate/format.ts";
import { review } from "../../desired/load.ts";
import type { ExitCode, Invocation } from "../invocation/invocation.ts";
import { pipelineFiles } from "./pipeline-files.ts";
import { variableReader } from "../invocation/variables.ts";
import { printable, printableLines } from "../invocation/terminal.ts";

/** `sluice validate [PATH...]`: prints the problems of pipeline files, without running them. */
export async function validate({ settings, terminal }: Invocation, paths: string[] = []): Promise<ExitCode> {
  const { files, named, unread } = await pipelineFiles(paths.length === 0 ? ["."] : paths);
  const variables = await variableReader(settings)();
  const problems = review(files, named, variables);
  const text = format(problems, files.length, settings.text("validate_format") as Format);
  terminal.out(printableLines(text.replace(/\n$/, "")));
  for (const { path, reason } of unread) terminal.err(printable(`${path}: not read: ${reason}`));
  return unread.length > 0 || problems.some(({ severity }) => severity === "error") ? 1 : 0;
}
