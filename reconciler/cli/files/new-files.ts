import { lstat, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { NamedSecret, RepositoryFiles } from "../../repository/index.ts";
import { CliError } from "../invocation/cli-error.ts";
import { type ExitCode, type Invocation, show } from "../invocation/invocation.ts";
import { columns, printable, printableLines } from "../invocation/terminal.ts";
import type { Problem } from "../../language/problem.ts";
import { textLine } from "../../validate/formats/text.ts";

/** Writes files below `folder`, none of which may be there. Throws CliError, before anything is written if one is. */
export async function writeNewFiles(folder: string, files: ReadonlyMap<string, string>): Promise<string[]> {
  const paths = [...files.keys()].map((path) => join(folder, path));
  const there = await Promise.all(paths.map(isThere));
  const first = paths.find((_, index) => there[index]);
  if (first !== undefined) throw new CliError(`${first} exists already: name an empty folder`);
  for (const [path, text] of files) {
    const file = join(folder, path);
    try {
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text, { flag: "wx" });
    } catch (error) {
      throw new CliError(`${file}: cannot be written: name another folder (${(error as Error).message})`, {
        cause: error,
      });
    }
  }
  return paths;
}

function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

/** Writes the files of pipelines, and says which, and what has to be set before they run. Errors end with 1. */
export async function writeRepository(
  invocation: Invocation,
  folder: string,
  { files, secrets }: RepositoryFiles,
  problems: readonly Problem[],
): Promise<ExitCode> {
  const { terminal } = invocation;
  const written = await writeNewFiles(folder, files);
  show(invocation, { written, secrets, problems }, () => written.map((file) => `wrote ${printable(file)}`).join("\n"));
  for (const one of problems) terminal.err(printableLines(textLine(one)));
  if (secrets.length > 0) terminal.err(secretLines(secrets));
  return problems.some(({ severity }) => severity === "error") ? 1 : 0;
}

function secretLines(secrets: readonly NamedSecret[]): string {
  const rows = secrets.map(({ name, hosts, username = "", fields }) => [
    name,
    username,
    hosts.join(", "),
    [...new Set(fields.map(({ pipeline_id }) => pipeline_id))].join(", "),
  ]);
  return `Set in the environment of sluice run, as the files refer to them:\n${columns(["VARIABLE", "USER", "HOSTS", "PIPELINES"], rows)}`;
}
