import { execFile } from "node:child_process";
import { access } from "node:fs/promises";
import { dirname, join } from "node:path";
import { counted } from "../../pipeline-tests/outcome.ts";
import type { Preview } from "../../preview/preview.ts";
import type { PlanReport } from "../../preview/report.ts";
import { code, inline } from "../../preview/escape.ts";
import { CliError } from "../invocation/cli-error.ts";
import { printable, type Terminal } from "../invocation/terminal.ts";
import type { Inputs } from "./inputs.ts";
import { annotationAt, type Runner } from "./runner.ts";

type Environment = Readonly<Record<string, string | undefined>>;

interface PrintedTests {
  passed: number;
  failed: number;
  tests: PrintedTest[];
}

interface TestJob {
  env: Environment;
  terminal: Terminal;
}

/** Milliseconds that the installation and the tests may take, each; and the bytes of what they print. */
const [longest, mostPrinted] = [15 * 60_000, 64 * 1024 * 1024];

/** What the tests of pipeline files may know of the job: not its token, and nothing else of its environment. */
const passedOn = ["PATH", "HOME", "TMPDIR", "TEMP", "RUNNER_TEMP", "LANG", "CI", "NODE_EXTRA_CA_CERTS", "HTTPS_PROXY"];

/** A test as `sluice test --format json` prints it. */
interface PrintedTest {
  file: string;
  line: number;
  name: string;
  status: "passed" | "failed" | "broken";
  failure?: string;
  mismatches?: { section: string; kind: string; expected?: unknown; found?: unknown }[];
}

/**
 * Runs the tests of the pipelines, with the values of each environment: each that fails is an annotation of its line. The
 * engine and chDB are no part of the bundle: they are installed first, into the copy of the repository of Sluice that the
 * runner has of this action.
 */
export async function tested(job: TestJob, { path, vars }: Inputs, runner: Runner): Promise<boolean> {
  const [sum, wrong] = [{ passed: 0, failed: 0 }, [] as PrintedTest[]];
  for (const file of vars.length > 1 ? vars : [undefined]) {
    const where = file === undefined ? "" : ` with ${file}`;
    const { passed, failed, tests } = await testedWith(job, path, file === undefined ? vars : [file]);
    job.terminal.out(printable(`${counted(tests.length, "test")}${where}: ${passed} passed, ${failed} failed`));
    const failing = tests.filter(({ status }) => status !== "passed");
    for (const one of failing) job.terminal.out(annotationAt("error", one, `${one.name}${where}: ${reasonOf(one)}`));
    wrong.push(...failing.map((one) => ({ ...one, name: `${one.name}${where}` })));
    sum.passed += passed;
    sum.failed += failed;
  }
  await runner.output({ "tests-passed": sum.passed, "tests-failed": sum.failed });
  if (wrong.length > 0) await runner.summarise([summaryOf(wrong)]);
  return sum.failed === 0;
}

async function testedWith(job: TestJob, path: string, vars: readonly string[]): Promise<PrintedTests> {
  const { said, error } = await ranSluice(job, ["test", path], vars);
  const report = reportIn(said) as PrintedTests | undefined;
  if (report !== undefined) return report;
  throw new CliError(`sluice test: ${printable(error.trim() || "expected a report, found none")}`);
}

/**
 * A plan with what becomes of the events of tests, as the installed Sluice finds it; without that where there is none: why is
 * said where the tests themselves are run.
 */
export async function withTests(
  job: TestJob,
  { path, vars }: Inputs,
  base: string,
  preview: Preview,
): Promise<Preview> {
  if (!preview.changes.some(({ sides }) => sides !== undefined)) return preview;
  const printed = await ranSluice(job, ["plan", path, "--base", base], vars).catch((error) => {
    if (!(error instanceof CliError)) throw error;
    return { said: "" };
  });
  const { changes = [] } = (reportIn(printed.said) ?? {}) as Partial<PlanReport>;
  const known = new Map(changes.map(({ pipeline_id, tests }) => [pipeline_id, tests]));
  return {
    ...preview,
    changes: preview.changes.map((one) => {
      const tests = known.get(one.change.pipeline_id);
      return tests === undefined ? one : { ...one, tests };
    }),
  };
}

/** Runs a command of the installed Sluice that prints JSON. It knows nothing of the job but what `passedOn` names. */
async function ranSluice({ env, terminal }: TestJob, command: string[], vars: readonly string[]): Promise<Printed> {
  const own = Object.fromEntries(passedOn.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
  const program = await installed(join(dirname(process.argv[1] ?? "."), "../../.."), own, terminal);
  const given = vars.flatMap((file) => ["--vars", file]);
  return ran("node", [program, ...command, "--format", "json", ...given], { env: own });
}

/** The program of Sluice; it is installed and built where it is not there. Throws CliError. */
async function installed(root: string, env: Environment, terminal: Terminal): Promise<string> {
  const program = join(root, "dist/sluice.js");
  if (await isThere(program)) return program;
  terminal.out("Installing Sluice with chDB, for its tests.");
  const { error } = await ran("npm", ["ci", "--no-audit", "--no-fund"], { env, cwd: root });
  if (await isThere(program)) return program;
  throw new CliError(
    `input test: expected npm ci to install Sluice in ${root}, found no program afterwards: ${printable(error.trim().slice(-2_000))}`,
  );
}

function isThere(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}

interface Printed {
  said: string;
  /** What it wrote to standard error, or why it did not start. */
  error: string;
}

function ran(command: string, args: string[], options: { env: Environment; cwd?: string }): Promise<Printed> {
  const limits = { timeout: longest, maxBuffer: mostPrinted };
  return new Promise((resolve) => {
    execFile(command, args, { ...options, ...limits }, (failure, said, error) =>
      resolve({ said, error: error === "" ? (failure?.message ?? "") : error }),
    );
  });
}

function reportIn(said: string): unknown {
  try {
    return JSON.parse(said);
  } catch {
    return undefined;
  }
}

/** Characters of a value in an annotation. */
const longestValue = 300;

function reasonOf({ failure, mismatches = [] }: PrintedTest): string {
  const differences = mismatches.map(({ section, kind, expected, found }) => {
    return `${section} ${kind}${shown("expected", expected)}${shown("found", found)}`;
  });
  return failure ?? differences.join("; ");
}

function shown(word: string, value: unknown): string {
  return value === undefined ? "" : `, ${word} ${printable(JSON.stringify(value).slice(0, longestValue))}`;
}

function summaryOf(wrong: readonly PrintedTest[]): string {
  const rows = wrong.map((one) => `- ${code(`${one.file}:${one.line}`)} ${inline(one.name)}: ${inline(reasonOf(one))}`);
  return ["### Tests that fail", "", ...rows, "", "`sluice test` shows the difference.", ""].join("\n");
}
