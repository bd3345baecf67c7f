import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isValid, type Validation, validationOf, withUnread } from "../files/validation.ts";
import { oneOrAll, planned, warningsOf, type WithTests } from "../files/plan.ts";
import { CliError } from "../invocation/cli-error.ts";
import { readDefaultConfig } from "../invocation/default-config.ts";
import { Progress } from "../invocation/progress.ts";
import { type SettingOrigins, resolveSettings } from "../invocation/resolve-settings.ts";
import { type Settings, textOf } from "../invocation/settings.ts";
import { printable, printableLines, type Terminal } from "../invocation/terminal.ts";
import { SourceError } from "../../git/revision.ts";
import { gravest, type Level } from "../../plan/level.ts";
import { markdownOf } from "../../preview/markdown.ts";
import { exitCodeOf } from "../../preview/report.ts";
import { placeComment } from "../../pull-request/comments.ts";
import { githubRest, uploadSarif } from "../../pull-request/github.ts";
import { commentsOfJob, githubRepository, jobEvent, UnknownJob } from "../../pull-request/host.ts";
import { RestError } from "../../pull-request/rest.ts";
import { WorkTree } from "../../work-tree/work-tree.ts";
import { format } from "../../validate/formats/format.ts";
import { counts } from "../../validate/formats/report.ts";
import { BadInput, type Inputs, inputsOf } from "./inputs.ts";
import { annotation, Runner } from "./runner.ts";
import { tested, withTests } from "./tests.ts";

/** What the action is given by its process. */
export interface Job {
  env: Readonly<Record<string, string | undefined>>;
  terminal: Terminal;
}

/** Milliseconds that a look at the clone may take. */
const longestLook = 60_000;
const planFile = "sluice-plan.json";
/** A log is read when all is over. */
const progress = new Progress({}, "sluice");

/**
 * The GitHub Action: checks the pipeline files of a job, says what their change does, comments on the pull
 * request, and runs the tests of the pipelines if it is asked to.
 * Resolves with whether the job may go on.
 */
export async function check(job: Job): Promise<boolean> {
  try {
    const inputs = inputsOf(job.env);
    const runner = new Runner(job.env);
    const base = inputs.base ?? (await baseOf(job, inputs.path));
    const isGood = await validated(job, inputs, base, runner);
    const isHarmless = await compared(job, inputs, base, runner);
    const isPassing = !inputs.isTested || (await tested(job, inputs, runner));
    return isGood && isHarmless && isPassing;
  } catch (error) {
    if (!isExpected(error)) throw error;
    job.terminal.out(annotation("error", printableLines(error.message)));
    return false;
  }
}

/** Checks the files: problems are annotations, the summary and, if asked for, a SARIF file. */
async function validated(job: Job, inputs: Inputs, base: string | undefined, runner: Runner): Promise<boolean> {
  const settings = await settingsOf("validate", job, inputs, base);
  const { unread, ...found } = await validationOf({ settings, env: job.env, progress }, [inputs.path]);
  const report = withUnread(found, unread);
  job.terminal.out(printableLines(format(report, "github").trimEnd()));
  const { errors, warnings } = counts(report.problems);
  await runner.output({ errors, warnings });
  if (report.problems.length > 0) await runner.summarise([format(report, "markdown")]);
  const sarif = format(report, "sarif");
  if (inputs.sarif !== undefined) {
    await writeFile(inputs.sarif, sarif);
    await runner.output({ "sarif-file": inputs.sarif });
  }
  if (inputs.isUploaded) await uploaded(job, inputs, sarif);
  return isValid({ ...found, unread } satisfies Validation);
}

async function uploaded({ env, terminal }: Job, { token }: Inputs, sarif: string): Promise<void> {
  const [commit, ref] = [env["GITHUB_SHA"], env["GITHUB_REF"]];
  if (token === undefined || !commit || !ref) {
    throw new BadInput("input upload-sarif: expected a token, GITHUB_SHA and GITHUB_REF, found not all of them");
  }
  try {
    const repository = githubRepository(env, token);
    await uploadSarif(githubRest(repository), repository.repository, { commit, ref }, sarif);
  } catch (error) {
    if (!(error instanceof RestError)) throw error;
    const way = error.isForbidden ? "the token needs security-events: write, which that of a fork never has. " : "";
    terminal.out(annotation("warning", printable(`The SARIF file was not uploaded: ${way}${error.message}`)));
  }
}

/** Says what the change does, where it is known what it would be merged into. */
async function compared(job: Job, inputs: Inputs, base: string | undefined, runner: Runner): Promise<boolean> {
  if (base === undefined) {
    job.terminal.out("No plan: the job is for no pull request, and the input base is not given.");
    return true;
  }
  const settings = await settingsOf("plan", job, inputs, base);
  const tests: WithTests = (preview, _files, given) =>
    withTests(job, { ...inputs, vars: varsIn(given) }, base, preview);
  const of = { settings, env: job.env, progress };
  const plans = await planned(of, inputs.path, inputs.isTested ? tests : undefined);
  for (const warning of warningsOf(plans)) job.terminal.out(annotation("warning", printable(warning)));
  const reports = plans.map(({ report }) => report);
  const comment = markdownOf(...reports);
  const file = join(runner.folder, planFile);
  await writeFile(file, `${JSON.stringify(oneOrAll(reports), undefined, 2)}\n`);
  const changed = new Set(reports.flatMap(({ changes }) => changes.map(({ pipeline_id }) => pipeline_id)));
  const level = gravest(reports, []);
  await runner.output({ level, changes: changed.size, "plan-file": file });
  await runner.summarise([comment]);
  if (inputs.isCommented) await commented(job, inputs, level, comment, runner);
  const isHarmless = exitCodeOf({ level }, settings.text("fail_on") as Level) !== 1;
  if (!isHarmless) job.terminal.out(annotation("error", refusalOf(level, settings.text("fail_on"))));
  return isHarmless;
}

/** The file of variables of one environment, where the input gives it. */
function varsIn({ settings }: { settings: Settings }): string[] {
  return settings.all("vars_file").flatMap(({ rank, value }) => (rank === 0 ? [textOf(value)] : []));
}

/**
 * What the change would be merged into. The event names the base as it was at the last push, and what is checked out is often
 * the merge with the base of now: what others merged in between is none of this change.
 */
async function baseOf({ env }: Job, path: string): Promise<string | undefined> {
  const { base, branch, head } = await jobEvent(env);
  if (base === undefined || branch === undefined) return base;
  const tree = await WorkTree.around(path, env, AbortSignal.timeout(longestLook));
  const merged = head === undefined ? undefined : await tree.mergedInto(head);
  const remote = `origin/${branch}`;
  return merged ?? ((await tree.has(remote)) ? remote : base);
}

/** A token that may not comment, as in a pull request of a fork, is no failure: the summary has the same. */
async function commented(
  { env, terminal }: Job,
  { token }: Inputs,
  level: Level,
  text: string,
  runner: Runner,
): Promise<void> {
  try {
    const comments = token === undefined ? undefined : await commentsOfJob(env, token);
    if (comments === undefined) return;
    const { address } = await placeComment(comments, text, level !== "none");
    if (address !== undefined) await runner.output({ "comment-url": address });
  } catch (error) {
    if (!(error instanceof RestError)) throw error;
    const way = error.isForbidden ? "the token needs pull-requests: write, which that of a fork never has. " : "";
    const kind = error.isForbidden ? "notice" : "warning";
    terminal.out(
      annotation(kind, printable(`The plan is in the summary of this job, not in a comment: ${way}${error.message}`)),
    );
  }
}

function refusalOf(level: Level, limit: string): string {
  return `This change is of the level ${level}, and the input fail-on is ${limit}: the summary of this job says which pipeline and why.`;
}

/** Settings of a command as the inputs say: they come from the workflow, as flags come from who types. */
async function settingsOf(
  command: "validate" | "plan",
  { env, terminal }: Job,
  { vars, references, failOn, maxDeletions }: Inputs,
  base: string | undefined,
): Promise<Settings> {
  const flags: SettingOrigins["flags"] = {
    ...(vars.length > 0 && { vars_file: vars }),
    ...(references.length > 0 && { references }),
    ...(command === "validate" && base !== undefined && { validate_base: base }),
    ...(command === "plan" && {
      ...(base !== undefined && { plan_base: base }),
      ...(failOn !== undefined && { fail_on: failOn }),
      ...(maxDeletions !== undefined && { max_deletions: maxDeletions }),
    }),
  };
  return resolveSettings(command, { flags, env, file: await readDefaultConfig(command, terminal) });
}

function isExpected(error: unknown): error is Error {
  return [BadInput, CliError, SourceError, UnknownJob].some((kind) => error instanceof kind);
}
