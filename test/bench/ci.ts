import { execFile } from "node:child_process";
import { appendFile, cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { load } from "js-yaml";
import { GitRepository } from "../support/git-repository.ts";
import { median } from "./cost.ts";
import { PipelineRepository } from "./reconcile-repository.ts";
import { textsBelow } from "./reconcile-floor.ts";

const execute = promisify(execFile);
const sluice = fileURLToPath(new URL("../../dist/sluice.js", import.meta.url));
const action = fileURLToPath(new URL("../../.github/actions/validate/index.cjs", import.meta.url));
const example = fileURLToPath(new URL("../../examples/config-repo", import.meta.url));

const rounds = Number(process.env["BENCH_RUNS"] ?? 5);
const many = 1_000;
/** Files of a large repository that a pull request changes. */
const changes = 10;

interface Command {
  name: string;
  /** Seconds that it may take on two cores. */
  goal?: number;
  argv: readonly string[];
  cwd: string;
  env?: Record<string, string>;
  /** The exit code of its success. */
  code: number;
}

/** `npm run bench -- ci`: the commands that check a pull request, each a process of its own, from its start to its end. */
export async function run(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "sluice-bench-ci-"));
  const large = await PipelineRepository.make(many);
  const repository = await changedExample();
  try {
    await large.branch("change");
    await large.change(changes);
    const commands = [...ofExample(repository.path, folder), ...ofMany(large.path)];
    const seconds = new Map<string, number[]>();
    const took = (name: string, one: number): void => void seconds.set(name, [...(seconds.get(name) ?? []), one]);
    for (let round = 0; round < rounds; round += 1) {
      const start = performance.now();
      for (const text of textsBelow(large.path)) void load(text);
      took(yaml, (performance.now() - start) / 1_000);
      for (const command of commands) took(command.name, await timed(command));
    }
    print(commands, seconds);
  } finally {
    await Promise.all([large.remove(), repository.remove()]);
    await rm(folder, { recursive: true, force: true });
  }
}

const yaml = `${many} files: js-yaml alone`;
const check = { name: "config-repo: the whole check, step by step", goal: 20 };
const nothing = "a start of Node.js alone";

function ofExample(repository: string, folder: string): Command[] {
  const vars = ["--vars", "environments/production.yaml"];
  const shared = { cwd: repository };
  const inputs = { INPUT_PATH: "pipelines", INPUT_BASE: "main", INPUT_VARS: vars[1]!, INPUT_COMMENT: "false" };
  const runner = { GITHUB_OUTPUT: join(folder, "output"), GITHUB_STEP_SUMMARY: join(folder, "summary") };
  return [
    { ...shared, name: nothing, argv: ["-e", "0"], code: 0 },
    { ...shared, name: "config-repo: validate", argv: [sluice, "validate", "pipelines", ...vars], code: 0 },
    { ...shared, name: "config-repo: plan", argv: [sluice, "plan", "pipelines", "--base", "main", ...vars], code: 2 },
    { ...shared, name: "config-repo: test", argv: [sluice, "test", "pipelines", ...vars], code: 0 },
    {
      ...shared,
      name: "config-repo: the action, which does both",
      argv: [action],
      env: { ...inputs, ...runner },
      code: 0,
    },
  ];
}

function ofMany(repository: string): Command[] {
  const shared = { cwd: repository, goal: 4 };
  return [
    { ...shared, name: `${many} files: validate`, argv: [sluice, "validate", "pipelines"], code: 0 },
    {
      ...shared,
      name: `${many} files: plan of ${changes} changes`,
      argv: [sluice, "plan", "pipelines", "--base", "main"],
      code: 2,
    },
  ];
}

/** The repository of the examples, with another option of one pipeline. */
async function changedExample(): Promise<GitRepository> {
  const repository = await GitRepository.create();
  await cp(example, repository.path, { recursive: true });
  await repository.commit({});
  await appendFile(join(repository.path, "pipelines/shop/refunds.yaml"), "  alter_table: true\n");
  return repository;
}

/** Seconds from its start to its end. Throws where it ends with another code than it has to. */
async function timed({ name, argv, cwd, env, code }: Command): Promise<number> {
  const start = performance.now();
  const given = { ...process.env, ...env };
  const found = await execute(process.execPath, argv, { cwd, env: given, maxBuffer: 64 * 1024 * 1024 }).then(
    () => 0,
    (error: { code: number }) => error.code,
  );
  if (found !== code) throw new Error(`${name}: expected exit code ${code}, found ${found}`);
  return (performance.now() - start) / 1_000;
}

/** What a pull request waits for: files, plan and tests, one after the other. */
function whole(seconds: ReadonlyMap<string, number[]>): number[] {
  const steps = ["validate", "plan", "test"].map((step) => seconds.get(`config-repo: ${step}`) ?? []);
  return Array.from({ length: rounds }, (_, round) => steps.reduce((sum, all) => sum + (all[round] ?? 0), 0));
}

function print(commands: readonly Command[], seconds: ReadonlyMap<string, number[]>): void {
  console.log(`medians of ${rounds} rounds, each command a process of its own\n`);
  const goals = new Map([...commands, check].map(({ name, goal }) => [name, goal]));
  for (const [name, all] of [...seconds, [check.name, whole(seconds)] as const]) {
    const goal = goals.get(name);
    const [middle = 0, least, most] = [median(all), Math.min(...all), Math.max(...all)];
    const range = `(${least.toFixed(2)} to ${most.toFixed(2)})`;
    console.log(
      `${name.padEnd(44)} ${middle.toFixed(2).padStart(6)} s ${range.padEnd(16)}${goal === undefined ? "" : ` goal under ${goal} s`}`.trimEnd(),
    );
  }
}
