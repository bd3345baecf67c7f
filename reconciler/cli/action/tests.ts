import { execFile } from "node:child_process";
import { access } from "node:fs/promises";
import { dirname, join } from "node:path";
import { counted } from "../../pipeline-tests/outcome.ts";
import { code, inline } from "../../preview/escape.ts";
import { CliError } from "../invocation/cli-error.ts";
import { printable, type Terminal } from "../invocation/terminal.ts";
import type { Inputs } from "./inputs.ts";
import { annotationAt, type Runner } from "./runner.ts";

type Environment = Readonly<Record<string, string | undefined>>;

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
 * Runs the tests of the pipelines: each that fails is an annotation of its line. The engine and chDB are no part of the
 * bundle: they are installed first, into the copy of the repository of Sluice that the runner has of this action.
 */
export async function tested(
  { env, terminal }: { env: Environment; terminal: Terminal },
  { path, vars }: Inputs,
  runner: Runner,
): Promise<boolean> {
  const own = Object.fromEntries(passedOn.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
  const program = await installed(join(dirname(process.argv[1] ?? "."), "../../.."), own, terminal);
  const args = [program, "test", path, "--format", "json", ...(vars === undefined ? [] : ["--vars", vars])];
  const { said, error } = await ran("node", args, { env: own });
  const report = reportIn(said);
  if (report === undefined)
    throw new CliError(`sluice test: ${printable(error.trim() || "expected a report, found none")}`);
  const { passed, failed, tests } = report;
  terminal.out(`${counted(tests.length, "test")}: ${passed} passed, ${failed} failed`);
  const wrong = tests.filter(({ status }) => status !== "passed");
  for (const one of wrong) terminal.out(annotationAt("error", one, `${one.name}: ${reasonOf(one)}`));
  await runner.output({ "tests-passed": passed, "tests-failed": failed });
  if (wrong.length > 0) await runner.summarise([summaryOf(wrong)]);
  return failed === 0;
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

function reportIn(said: string): { passed: number; failed: number; tests: PrintedTest[] } | undefined {
  try {
    return JSON.parse(said) as { passed: number; failed: number; tests: PrintedTest[] };
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
