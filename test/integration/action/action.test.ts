import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { load } from "js-yaml";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { bundled } from "../../../.github/actions/validate/bundle.ts";
import { check } from "../../../reconciler/cli/action/check.ts";
import { inputNames } from "../../../reconciler/cli/action/inputs.ts";
import { type FirstAnswer, GitHost, strangersAccount, token } from "../../support/git-host.ts";
import { GitRepository } from "../../support/git-repository.ts";
import { pipelineText } from "../../support/pipeline-text.ts";

const action = fileURLToPath(new URL("../../../.github/actions/validate/", import.meta.url));
const recorder = new URL("../../support/record-modules.mjs", import.meta.url).href;
const orders = pipelineText({ id: "orders" });
const filtered = pipelineText({ id: "orders", expression: "id > 1" });
const marker = "<!-- sluice-plan -->";

let folder: string;
let repository: GitRepository;
let started: GitHost | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-action-"));
  repository = await GitRepository.create();
  await repository.commit({ "pipelines/orders.yaml": orders });
});

afterEach(async () => {
  await started?.stop();
  started = undefined;
  await rm(repository.path, { recursive: true, force: true });
  await rm(folder, { recursive: true, force: true });
});

interface Ran {
  code: number;
  out: string;
  summary: string;
  outputs: Record<string, string>;
  /** Files that Node loaded besides the bundle. */
  modules: string;
}

interface JobOptions {
  inputs?: Record<string, string>;
  event?: object;
  first?: FirstAnswer[];
  /** The folder with the bundle. */
  at?: string;
  /** A folder with programs that are found first. */
  path?: string;
}

type Program = (env: Record<string, string>) => Promise<[code: number, out: string]>;

/** Runs the action in this process, in the repository with what is not committed there. */
function run(options: Omit<JobOptions, "at"> = {}): Promise<Ran> {
  return runAs(options, async (env) => {
    const before = process.cwd();
    process.chdir(repository.path);
    const printed: string[] = [];
    const terminal = { out: (text: string) => void printed.push(text), err: (text: string) => void printed.push(text) };
    try {
      const isGood = await check({ env, terminal });
      return [isGood ? 0 : 1, printed.map((text) => `${text}\n`).join("")];
    } finally {
      process.chdir(before);
    }
  });
}

/** Runs the committed bundle as a runner does. */
function runBundle({ at = action, ...options }: JobOptions = {}): Promise<Ran> {
  const argv = ["--import", recorder, join(at, "index.cjs")];
  return runAs(
    options,
    (env) =>
      new Promise((done) => {
        execFile(process.execPath, argv, { env, cwd: repository.path }, (error, stdout, stderr) =>
          done([Number(error?.code ?? 0), stdout + stderr]),
        );
      }),
  );
}

async function runAs({ inputs = {}, event, first = [], path = "" }: JobOptions, program: Program): Promise<Ran> {
  started ??= await GitHost.start({ kind: "github", number: 12, first });
  const host = started;
  const [eventFile, outputs, summary, modules] = ["event", "outputs", "summary", "modules"].map((name) =>
    join(folder, name),
  );
  const base = await repository.git("rev-parse", "HEAD");
  await writeFile(eventFile!, JSON.stringify(event ?? { pull_request: { number: 12, base: { sha: base.trim() } } }));
  for (const file of [outputs, summary, modules]) await writeFile(file!, "");
  const given = { "github-token": token, ...inputs };
  const env = {
    PATH: `${path}:${process.env["PATH"]}`,
    HOME: folder,
    ...host.env(eventFile!),
    ...Object.fromEntries(Object.entries(given).map(([name, value]) => [`INPUT_${name.toUpperCase()}`, value])),
    GITHUB_OUTPUT: outputs!,
    GITHUB_STEP_SUMMARY: summary!,
    GITHUB_SHA: base.trim(),
    GITHUB_REF: "refs/pull/12/merge",
    RUNNER_TEMP: folder,
    LOADED_MODULES: modules!,
  };
  const [code, out] = await program(env);
  const text = await readFile(outputs!, "utf8");
  const found = [...text.matchAll(/^(\S+)<<(\S+)\n([\s\S]*?)\n\2$/gm)].map(([, name = "", , value = ""]) => [
    name,
    value,
  ]);
  return {
    code,
    out,
    summary: await readFile(summary!, "utf8"),
    outputs: Object.fromEntries(found) as Record<string, string>,
    modules: await readFile(modules!, "utf8"),
  };
}

const put = (text: string) => writeFile(join(repository.path, "pipelines/orders.yaml"), text);

test("the committed bundle is what its source gives: else run `npm run action`", async () => {
  for (const [name, text] of Object.entries(await bundled())) {
    // Not by toBe, which would print both.
    expect((await readFile(join(action, name), "utf8")) === text, name).toBe(true);
  }
});

/** The names that `action.yml` describes. */
async function described(): Promise<{ inputs: string[]; outputs: string[] }> {
  const { inputs, outputs } = load(await readFile(join(action, "action.yml"), "utf8")) as Record<string, object>;
  return { inputs: Object.keys(inputs!).toSorted(), outputs: Object.keys(outputs!).toSorted() };
}

test("action.yml has the inputs that are read", async () => {
  expect((await described()).inputs).toEqual([...inputNames].toSorted());
});

test("a change is a comment, which the next run replaces, and is in the summary and the outputs; the bundle needs no package beside it", async () => {
  await put(filtered);
  const first = await runBundle({ inputs: { path: "pipelines" } });
  expect(first.code).toBe(0);
  expect(first.modules).toContain("index.cjs");
  expect(first.modules).not.toContain("node_modules");
  expect(first.outputs).toMatchObject({ errors: "0", warnings: "0", level: "rows", changes: "1" });
  expect(first.outputs["comment-url"]).toMatch(/pull\/12#c-100$/);
  const [comment] = started!.comments;
  expect(comment!.body.startsWith(`${marker}\n`)).toBe(true);
  expect(comment!.body).toContain("orders");
  expect(first.summary).toContain(comment!.body);
  const plan = JSON.parse(await readFile(first.outputs["plan-file"]!, "utf8")) as { level: string };
  expect(plan.level).toBe("rows");

  await put(orders);
  const next = await run({ inputs: { path: "pipelines" } });
  expect(next.outputs).toMatchObject({ level: "none", changes: "0" });
  expect(started!.comments.length).toBe(1);
  expect(started!.comments[0]!.body).toContain("Nothing that runs changes.");
});

test(
  "with test, the tests beside the pipelines are run, and one that fails is an annotation and fails the job; then all outputs are set",
  { tags: ["rest"] },
  async () => {
    const file = join(repository.path, "pipelines/orders.test.yaml");
    const event = "{ id: 2, level: error }";
    const tests = (id: number): string =>
      `tests:\n  - name: errors\n    events: [{ event: ${event} }]\n    expect: { rows: [{ id: ${id} }] }\n`;
    await writeFile(file, tests(2));
    await put(filtered);
    const good = await runBundle({ inputs: { path: "pipelines", sarif: "found.sarif", test: "true" } });
    expect(good).toMatchObject({ code: 0, outputs: { "tests-passed": "1", "tests-failed": "0" } });
    expect(good.out).toContain("1 test: 1 passed, 0 failed");
    expect(started!.comments[0]!.body).toContain("- tests: none of 1 event in 1 test has another outcome\n");
    expect(Object.keys(good.outputs).toSorted()).toEqual((await described()).outputs);
    await writeFile(file, tests(3));
    const bad = await runBundle({ inputs: { path: "pipelines", test: "true" } });
    expect(bad).toMatchObject({ code: 1, outputs: { "tests-passed": "0", "tests-failed": "1" } });
    expect(bad.out).toContain(
      '::error file=pipelines/orders.test.yaml,line=2,title=sluice::errors: rows missing, expected {"id":3}; rows unexpected, found {"id":2,',
    );
    expect(bad.summary).toContain("### Tests that fail");
    const without = await run({ inputs: { path: "pipelines" } });
    expect(without.code).toBe(0);
    expect(without.outputs).not.toHaveProperty("tests-passed");
    expect(without.summary).not.toContain("- tests: ");
  },
);

test(
  "Sluice is installed for its tests where it is not there, without the token of the job",
  { tags: ["rest"] },
  async () => {
    const root = join(folder, "sluice");
    const at = join(root, ".github/actions/validate");
    await mkdir(at, { recursive: true });
    await copyFile(join(action, "index.cjs"), join(at, "index.cjs"));
    const programs = join(folder, "programs");
    await mkdir(programs);
    const report = JSON.stringify({ passed: 2, failed: 0, tests: [] });
    const npm = `#!/bin/sh
env >>"${folder}/installation"; echo "$PWD $*" >>"${folder}/installation"
mkdir dist && echo 'console.log(${JSON.stringify(report)})' >dist/sluice.js\n`;
    await writeFile(join(programs, "npm"), npm, { mode: 0o755 });
    const ran = await runBundle({ inputs: { path: "pipelines", test: "true" }, at, path: programs });
    expect(ran).toMatchObject({ code: 0, outputs: { "tests-passed": "2" } });
    const said = await readFile(join(folder, "installation"), "utf8");
    expect(said).toMatch(/\/sluice ci --no-audit --no-fund$/m);
    expect(said).not.toContain(token);

    await rm(join(root, "dist"), { recursive: true });
    await writeFile(join(programs, "npm"), "#!/bin/sh\necho 'no registry' >&2\nexit 1\n", { mode: 0o755 });
    const failed = await runBundle({ inputs: { path: "pipelines", test: "true" }, at, path: programs });
    expect(failed.code).toBe(1);
    expect(failed.out).toMatch(
      /::error title=sluice::input test: expected npm ci to install Sluice in .*: no registry/,
    );
  },
);

/** A change of `orders`, while others have merged a pipeline of theirs since the last push. */
async function behindOthers(): Promise<{ base: string; head: string }> {
  const base = await repository.head();
  await repository.git("checkout", "-q", "-b", "mine");
  const head = await repository.commit({ "pipelines/orders.yaml": filtered });
  await repository.git("checkout", "-q", "main");
  await repository.commit({ "pipelines/theirs.yaml": pipelineText({ id: "theirs" }) });
  return { base, head };
}

const eventOf = ({ base, head }: { base: string; head: string }): object => ({
  pull_request: { number: 12, base: { sha: base, ref: "main" }, head: { sha: head } },
});

describe("a change of others that was merged since the last push is not planned", () => {
  test("where the merge with the base is checked out, also without the branch in the clone", async () => {
    const moved = await behindOthers();
    await repository.git("checkout", "-q", "--detach");
    await repository.git("merge", "-q", "--no-ff", "-m", "Merge", "mine");
    await repository.git("branch", "-D", "main");
    const { outputs } = await run({ inputs: { path: "pipelines" }, event: eventOf(moved) });
    expect(outputs).toMatchObject({ level: "rows", changes: "1" });
    expect(started!.comments[0]!.body).not.toContain("theirs");
  });

  test("where the change alone is checked out", async () => {
    const { head } = await behindOthers();
    await repository.git("update-ref", "refs/remotes/origin/main", "main");
    await repository.git("checkout", "-q", "mine");
    // The event may also name a base that is newer, or not in the clone.
    const event = eventOf({ base: "0".repeat(40), head });
    const { outputs } = await run({ inputs: { path: "pipelines" }, event });
    expect(outputs).toMatchObject({ level: "rows", changes: "1" });
  });

  test("where the clone has no branch of that name, by the base of the event", async () => {
    const moved = await behindOthers();
    await repository.git("checkout", "-q", "mine");
    const { outputs } = await run({ inputs: { path: "pipelines" }, event: eventOf(moved) });
    expect(outputs).toMatchObject({ level: "rows", changes: "1" });
  });
});

test("a bad file is an annotation at its place, in the summary, and fails the job", async () => {
  await put(orders.replace("type: int", "type: itn"));
  const { code, out, outputs, summary } = await run({ inputs: { path: "pipelines" } });
  expect(code).toBe(1);
  expect(out).toMatch(/^::error file=pipelines\/orders\.yaml,line=\d+,col=\d+,title=VALUE::/m);
  expect(outputs).toMatchObject({ errors: "1", level: "refuse" });
  expect(summary).toContain("did you mean");
  // The comment says it too: the reviewer looks there.
  expect(started!.comments[0]!.body).toContain("refused (InvalidFile)");
});

test("several files of variables are an environment each: one comment with a section for each", async () => {
  const topic = pipelineText({ id: "clicks", topic: "${var:TOPIC}" });
  await repository.commit({
    "pipelines/clicks.yaml": topic,
    "staging.yml": "TOPIC: a\n",
    "production.yml": "TOPIC: b\n",
  });
  await writeFile(join(repository.path, "staging.yml"), "TOPIC: c\n");
  await put(filtered);
  const { code, outputs } = await run({
    inputs: { path: "pipelines", vars: "staging.yml\nproduction.yml\n", "fail-on": "forget" },
  });
  expect(code).toBe(1);
  expect(outputs).toMatchObject({ errors: "0", level: "forget", changes: "2" });
  expect(started!.comments.length).toBe(1);
  expect(started!.comments[0]!.body.match(/^### Sluice: .*?: (?=main|\w{12})|^\| ~ .*? update \(\w+\)/gm)).toEqual([
    "### Sluice: staging: ",
    "| ~ | <code>clicks</code> | update (forget)",
    "| ~ | <code>orders</code> | update (rows)",
    "### Sluice: production: ",
    "| ~ | <code>orders</code> | update (rows)",
  ]);
  const plans = JSON.parse(await readFile(outputs["plan-file"]!, "utf8")) as { environment: string }[];
  expect(plans.map(({ environment }) => environment)).toEqual(["staging", "production"]);
});

test("a secret that is new is a warning of the plan, and of another kind where the operator does not allow it", async () => {
  await put(pipelineText({ id: "orders", connection: ["password: ${env:CH_PASSWORD}"] }));
  await run({ inputs: { path: "pipelines" } });
  const [comment] = started!.comments;
  expect(comment!.body).toContain("- **warning**: it asks for the secret ${env:CH_PASSWORD}");
  await run({ inputs: { path: "pipelines", references: "${env:SLUICE_SECRET_*}=*\n${env:CH_*}=orders" } });
  expect(started!.comments[0]!.body).toContain("- **warning**: it gets the secret ${env:CH_PASSWORD}");
});

test("a change as grave as fail-on fails the job, a lesser one does not", async () => {
  await put(filtered);
  const blocked = await run({ inputs: { "fail-on": "change" } });
  expect(blocked.code).toBe(1);
  expect(blocked.out).toContain(
    "::error title=sluice::This change is of the level rows, and the input fail-on is change",
  );
  expect((await run({ inputs: { "fail-on": "forget" } })).code).toBe(0);
});

test("in a pull request of a fork the plan is in the summary, with a notice why", async () => {
  await put(filtered);
  const refusal = '{"message":"Resource not accessible by integration"}';
  const { code, out, summary } = await run({ first: [{ call: /^POST/, status: 403, body: refusal }] });
  expect(code).toBe(0);
  expect(out).toContain(
    "::notice title=sluice::The plan is in the summary of this job, not in a comment: the token needs",
  );
  expect(out).not.toContain(token);
  expect(summary).toContain(marker);
});

test("a host that fails does not fail the job", async () => {
  await put(filtered);
  const { code, out } = await run({ first: [{ call: /^POST/, status: 500, body: "oops" }] });
  expect(code).toBe(0);
  expect(out).toContain("::warning title=sluice::The plan is in the summary of this job, not in a comment: POST ");
});

test("without a pull request the files are checked alone", async () => {
  const { code, out, outputs } = await run({ event: { ref: "refs/heads/main" } });
  expect(code).toBe(0);
  expect(out).toContain("No plan: the job is for no pull request");
  expect(outputs).toEqual({ errors: "0", warnings: "0" });
  expect(started!.asked).toEqual([]);
});

test("the SARIF file is written and given to code scanning", async () => {
  await put(orders.replace("type: int", "type: itn"));
  const { outputs } = await run({ inputs: { sarif: "found.sarif", "upload-sarif": "true", comment: "false" } });
  const written = await readFile(join(repository.path, outputs["sarif-file"]!), "utf8");
  const [given] = started!.sarifs;
  expect(given).toMatchObject({
    ref: "refs/pull/12/merge",
    commit_sha: expect.stringMatching(/^[0-9a-f]{40}$/) as string,
  });
  expect(gunzipSync(Buffer.from(given!.sarif, "base64")).toString()).toBe(written);
  expect((JSON.parse(written) as { version: string }).version).toBe("2.1.0");
  expect(started!.comments).toEqual([]);
});

test.each([
  ["an input that is neither true nor false", { comment: "yes" }, 'input comment: expected true or false, got "yes"'],
  ["a folder that is not there", { path: "pipeline" }, "pipeline: expected a file or a folder"],
  ["a base that the clone does not have", { base: "release" }, "expected a branch, tag or commit of the clone"],
  ["a level that there is not", { "fail-on": "always" }, "--fail-on: expected one of none, change"],
])("%s is an annotation that says so", async (_title, inputs, said) => {
  const { code, out } = await run({ inputs });
  expect(code).toBe(1);
  expect(out).toMatch(/^::error title=sluice::/m);
  expect(out).toContain(said);
});

test("what a file says is no command of the runner, in no place", async () => {
  const evil = "::set-output name=level::none%0A::error::\u001b[31m";
  await put(orders.replace("pipeline_id: orders", `pipeline_id: ${JSON.stringify(evil)}`));
  started = await GitHost.start({ kind: "github", number: 12 });
  started.add(`${marker}\nforged`, strangersAccount);
  const { out } = await run();
  const inText = /^::stop-commands::([0-9a-f]{64})$[\s\S]*^::\1::$/m.exec(out)![0];
  const outside = out.replace(inText, "");
  for (const line of outside.split("\n").filter((one) => one.startsWith("::"))) {
    expect(line).toMatch(/^::(error|warning|notice) (file=pipelines\/orders\.yaml,line=\d+,col=\d+,)?title=\w+::/);
  }
  expect(out).not.toContain("\u001b");
});
