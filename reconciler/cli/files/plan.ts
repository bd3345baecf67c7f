import { styleText } from "node:util";
import { Loader } from "../../desired/load.ts";
import type { Variables } from "../../language/variables.ts";
import { parseDeletionLimit } from "../../plan/budget.ts";
import type { Level } from "../../preview/level.ts";
import { markdownOf } from "../../preview/markdown.ts";
import { previewOf, previewOfLive, type Side } from "../../preview/preview.ts";
import { exitCodeOf, type PlanReport, reportOf } from "../../preview/report.ts";
import { type Line, linesOf, type Tone } from "../../preview/text.ts";
import { WorkTree } from "../../work-tree/work-tree.ts";
import { CliError } from "../invocation/cli-error.ts";
import { documentOf, type ExitCode, formatOf, type Invocation } from "../invocation/invocation.ts";
import type { Settings } from "../invocation/settings.ts";
import { readText } from "../invocation/settings-file.ts";
import { hasColours, printable, printableLines } from "../invocation/terminal.ts";
import { variableReader } from "../invocation/variables.ts";
import { type ComparedFiles, comparedFiles } from "./compared-files.ts";
import { headFor, liveStateAt } from "./live-server.ts";

/** Milliseconds that reading and checking both sides may take. */
const longest = 120_000;

/**
 * `sluice plan [PATH] --base REF`: what a change of the pipeline files would do once it is merged, without a server. With
 * `--server URL` in place of `--base`: what a running Sluice would do with them at this moment.
 */
export async function planFiles(invocation: Invocation, path = "."): Promise<ExitCode> {
  const { report, warning } = await planned(invocation, path);
  print(invocation, report);
  if (warning !== undefined) invocation.terminal.err(printable(`sluice: ${warning}`));
  return exitCodeOf(report, invocation.settings.text("fail_on") as Level);
}

/** The plan that `sluice plan` prints, with a warning about what was compared. Throws CliError and SourceError. */
export async function planned(
  { settings, env, progress }: Pick<Invocation, "settings" | "env" | "progress">,
  path: string,
): Promise<{ report: PlanReport; warning?: string }> {
  const [from, server] = [settings.optional("plan_base"), settings.optional("plan_server")];
  if (from !== undefined && server !== undefined) throw new CliError("expected --base REF or --server URL, found both");
  const signal = AbortSignal.timeout(longest);
  if (server !== undefined) return plannedOnServer({ settings, env, progress }, path, server, signal);
  if (from === undefined) throw new CliError("expected --base REF: the branch into which the change is to be merged");
  progress.step("reading the files of both sides");
  const tree = await WorkTree.around(path, env, signal);
  const { base, head, ...rest } = await comparedFiles(tree, from, settings.optional("plan_head"));
  progress.step(`checking ${base.files.length + head.files.length} files`);
  const [before, after] = await loaded(settings, tree, [base, head], signal);
  const preview = previewOf(before!, after!, parseDeletionLimit(settings.text("max_deletions")));
  return { report: reportOf(preview, base.compared, head.compared), ...rest };
}

/** The same against what runs. Its server says how many pipelines may be deleted. */
async function plannedOnServer(
  { settings, env, progress }: Pick<Invocation, "settings" | "env" | "progress">,
  path: string,
  server: string,
  signal: AbortSignal,
): Promise<{ report: PlanReport; warning?: string }> {
  progress.step("asking the server what runs");
  const { live, compared } = await liveStateAt(server, { settings, env });
  progress.step("reading the files");
  const { head, tree, ...rest } = await headFor(live, path, settings.optional("plan_head"), env, signal);
  progress.step(`checking ${head.files.length} files`);
  const [after] = await loaded(settings, tree, [head], signal);
  return { report: reportOf(previewOfLive(live, after!), compared, head.compared), ...rest };
}

/** Sides, each with the values that the file of `--vars` has there. A file that is the same in several is read once. */
async function loaded(
  settings: Settings,
  tree: WorkTree | undefined,
  sides: readonly ComparedFiles[],
  signal: AbortSignal,
): Promise<Side[]> {
  const loader = new Loader();
  let commit: string | undefined;
  const textOf = async (file: string): Promise<string> =>
    (commit === undefined ? undefined : await tree?.textAt(commit, file)) ?? readText(file);
  const read = variableReader(settings, textOf);
  const found: Side[] = [];
  for (const { compared, files, skipped } of sides) {
    ({ commit } = compared);
    const variables: Variables = await read();
    found.push({ desired: await loader.load(files, signal, variables), skipped });
  }
  return found;
}

function print({ settings, terminal, env }: Invocation, report: PlanReport): void {
  const format = formatOf(settings, "plan_format");
  if (format === "json" || format === "yaml") terminal.out(printableLines(documentOf(report, format)));
  else if (format === "markdown") terminal.out(printableLines(markdownOf(report).trimEnd()));
  else {
    const isColoured = hasColours(terminal.isInteractive, env);
    terminal.out(
      linesOf(report)
        .map((line) => painted(line, isColoured))
        .join("\n"),
    );
  }
}

const colours: Readonly<Record<Tone, "bold" | "green" | "red" | "yellow">> = {
  heading: "bold",
  added: "green",
  removed: "red",
  warning: "yellow",
  error: "red",
};

function painted({ text, tone }: Line, isColoured: boolean): string {
  const shown = printable(text);
  return isColoured && tone !== undefined ? styleText(colours[tone], shown, { validateStream: false }) : shown;
}
