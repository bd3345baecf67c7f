import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { Loader } from "../../desired/load.ts";
import { unreadPaths } from "../../git/revision.ts";
import type { SourceFile } from "../../language/source-text.ts";
import type { Variables } from "../../language/variables.ts";
import { parseDeletionLimit } from "../../plan/budget.ts";
import { gravest, type Level } from "../../plan/level.ts";
import { counted } from "../../plan/render/words.ts";
import { markdownOf } from "../../preview/markdown.ts";
import { type Preview, previewOf, previewOfLive, type Side } from "../../preview/preview.ts";
import { type ComparedSide, exitCodeOf, type PlanReport, reportOf } from "../../preview/report.ts";
import { savedPlan, type SavedPlan } from "../../preview/saved-plan.ts";
import { linesOf } from "../../preview/text.ts";
import { WorkTree } from "../../work-tree/work-tree.ts";
import { CliError } from "../invocation/cli-error.ts";
import { documentOf, type ExitCode, formatOf, type Invocation } from "../invocation/invocation.ts";
import { permissionsGiven } from "../invocation/references.ts";
import type { Settings } from "../invocation/settings.ts";
import { readVariablesFile } from "../invocation/settings-file.ts";
import { paintedLines, printable, printableLines } from "../invocation/terminal.ts";
import { environmentsOf, variableReader } from "../invocation/variables.ts";
import { type ComparedFiles, comparedFiles } from "./compared-files.ts";
import { headFor, liveStateAt } from "./live-server.ts";

/** Milliseconds that reading and checking both sides may take. */
const longest = 120_000;

/**
 * `sluice plan [PATH] --base REF`: what a change of the pipeline files would do once it is merged, without a server. With
 * `--server URL` in place of `--base`: what a running Sluice would do with them at this moment. With several files of
 * `--vars`: a plan for each environment.
 */
export async function planFiles(invocation: Invocation, path = ".", withTests?: WithTests): Promise<ExitCode> {
  const { settings, terminal } = invocation;
  const isTested = !settings.isOn("plan_without_tests");
  const plans = await planned(invocation, path, isTested ? withTests : undefined);
  const reports = plans.map(({ report }) => report);
  print(invocation, reports);
  for (const warning of warningsOf(plans)) terminal.err(printable(`sluice: ${warning}`));
  const file = settings.optional("plan_save");
  const saved = plans.map((one) => one.saved);
  if (file !== undefined) terminal.err(printable(`sluice: ${await save(file, saved)}`));
  return exitCodeOf({ level: gravest(reports, []) }, settings.text("fail_on") as Level);
}

/** A plan as it is printed and as it is saved, with a warning about what was compared. */
interface Planned {
  report: PlanReport;
  saved: SavedPlan;
  warning?: string;
}

/** What was compared is the same in all environments. */
export function warningsOf(plans: readonly Planned[]): string[] {
  return [...new Set(plans.flatMap(({ warning }) => warning ?? []))];
}

/** One document, or with several environments a list of them. */
export function oneOrAll<One>(all: readonly One[]): One | readonly One[] {
  return all.length === 1 ? all[0]! : all;
}

/** Writes the plan; gives a sentence that says how it is approved. */
async function save(file: string, saved: readonly SavedPlan[]): Promise<string> {
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, `${JSON.stringify(oneOrAll(saved), undefined, 2)}\n`);
  } catch (error) {
    const why = (error as Error).message;
    throw new CliError(`--save: expected a file that can be written: ${why}`, { cause: error });
  }
  const changes = saved.flatMap((one) => one.changes).length;
  const count = counted(changes, "change");
  if (count === "") return `saved ${file}: no change is to be approved`;
  return `saved ${file} with ${count}: in the folder approvals of the repository, it approves ${changes === 1 ? "it" : "them"}`;
}

/** Adds what becomes of the events of tests, which are among the files of the head. */
export type WithTests = (
  preview: Preview,
  files: readonly SourceFile[],
  invocation: Pick<Invocation, "settings" | "progress">,
) => Promise<Preview>;

/**
 * The plans that `sluice plan` prints, one for each environment, with a warning about what was compared. Without
 * `withTests` no test is run: the engine is loaded for them alone. Throws CliError and SourceError.
 */
export async function planned(
  invocation: Pick<Invocation, "settings" | "env" | "progress">,
  path: string,
  withTests: WithTests = (preview) => Promise.resolve(preview),
): Promise<Planned[]> {
  const { settings } = invocation;
  const environments = environmentsOf(settings);
  if (environments.length > 1 && settings.optional("plan_server") !== undefined) {
    const found = `${settings.origin("vars_file")}: expected one file, found ${environments.length}`;
    throw new CliError(`${found}: a server has the values of one environment`);
  }
  const plans: Planned[] = [];
  for (const { name, settings: own } of environments) {
    const { report, saved, ...rest } = await plannedIn({ ...invocation, settings: own }, path, withTests);
    const environment = name === undefined ? {} : { environment: name };
    plans.push({ report: { ...environment, ...report }, saved: { ...environment, ...saved }, ...rest });
  }
  return plans;
}

/** The plan of one environment. */
async function plannedIn(
  { settings, env, progress }: Pick<Invocation, "settings" | "env" | "progress">,
  path: string,
  withTests: WithTests,
): Promise<Planned> {
  const [from, server] = [settings.optional("plan_base"), settings.optional("plan_server")];
  if (from !== undefined && server !== undefined) throw new CliError("expected --base REF or --server URL, found both");
  const signal = AbortSignal.timeout(longest);
  if (server !== undefined) return plannedOnServer({ settings, env, progress }, path, server, withTests, signal);
  if (from === undefined) throw new CliError("expected --base REF: the branch into which the change is to be merged");
  progress.step("reading the files of both sides");
  const tree = await WorkTree.around(path, env, signal);
  const { base, head, ...rest } = await comparedFiles(tree, from, settings.optional("plan_head"));
  progress.step(`checking ${base.files.length + head.files.length} files`);
  const [before, after] = await loadedSides(settings, tree, [base, head], signal);
  const limit = parseDeletionLimit(settings.text("max_deletions"));
  const compared = previewOf(before!, after!, limit, permissionsGiven(settings));
  const preview = await withTests(compared, head.files, { settings, progress });
  return { ...madeOf(preview, base.compared, head.compared), ...rest };
}

/** The same against what runs. Its server says how many pipelines may be deleted. */
async function plannedOnServer(
  { settings, env, progress }: Pick<Invocation, "settings" | "env" | "progress">,
  path: string,
  server: string,
  withTests: WithTests,
  signal: AbortSignal,
): Promise<Planned> {
  progress.step("asking the server what runs");
  const { live, compared } = await liveStateAt(server, { settings, env });
  progress.step("reading the files");
  const { head, tree, ...rest } = await headFor(live, path, settings.optional("plan_head"), env, signal);
  progress.step(`checking ${head.files.length} files`);
  const unread = Object.keys(live.not_read ?? {});
  const [after] = await loadedSides(settings, tree, [{ ...head, unread }], signal);
  const preview = await withTests(previewOfLive(live, after!, permissionsGiven(settings)), head.files, {
    settings,
    progress,
  });
  return { ...madeOf(preview, compared, head.compared), ...rest };
}

function madeOf(preview: Preview, base: ComparedSide, head: ComparedSide): Pick<Planned, "report" | "saved"> {
  const report = reportOf(preview, base, head);
  return { report, saved: savedPlan(preview, report) };
}

/**
 * Sides, each with the values that the file of `--vars` has there. A file that is the same in several is read once.
 * `unread`: what a server did not read of earlier revisions.
 */
export async function loadedSides(
  settings: Settings,
  tree: WorkTree | undefined,
  sides: readonly (ComparedFiles & { unread?: readonly string[] })[],
  signal: AbortSignal,
): Promise<Side[]> {
  const loader = new Loader();
  let commit: string | undefined;
  const textOf = async (file: string): Promise<string> =>
    (commit === undefined ? undefined : await tree?.textAt(commit, file)) ?? readVariablesFile(file);
  const read = variableReader(settings, textOf);
  const found: Side[] = [];
  for (const { compared, files, skipped, unread } of sides) {
    ({ commit } = compared);
    const variables: Variables = await read();
    const desired = await loader.load(files, signal, variables, unreadPaths({ skipped }, unread));
    found.push({ desired, skipped });
  }
  return found;
}

function print({ settings, terminal, env }: Invocation, reports: readonly PlanReport[]): void {
  const format = formatOf(settings, "plan_format");
  if (format === "json" || format === "yaml") terminal.out(printableLines(documentOf(oneOrAll(reports), format)));
  else if (format === "markdown") terminal.out(printableLines(markdownOf(...reports).trimEnd()));
  else terminal.out(paintedLines(reports.flatMap(linesOf), colours, { terminal, env }));
}

const colours = {
  heading: "bold",
  added: "green",
  removed: "red",
  warning: "yellow",
  error: "red",
} as const;
