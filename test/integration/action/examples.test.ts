import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { load } from "js-yaml";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isEveryCase } from "../../support/cases.ts";
import { GitHost, token } from "../../support/git-host.ts";
import { GitRepository } from "../../support/git-repository.ts";
import { pipelineText } from "../../support/pipeline-text.ts";
import { ShellSluice } from "../../support/shell-sluice.ts";

const orders = pipelineText({ id: "orders" });
const filtered = pipelineText({ id: "orders", expression: "id > 1" });

let folder: string;
let sluice: ShellSluice;
let repository: GitRepository;
let base: string;
let host: GitHost | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-ci-"));
  repository = await GitRepository.create();
  base = await repository.commit({ "pipelines/orders.yaml": orders });
  sluice = await ShellSluice.start(folder);
});

afterEach(async () => {
  await host?.stop();
  host = undefined;
  await sluice.stop();
  await rm(repository.path, { recursive: true, force: true });
  await rm(folder, { recursive: true, force: true });
});

async function example<T>(name: string): Promise<T> {
  return load(await readFile(`examples/ci/${name}`, "utf8")) as T;
}

/** Runs lines as a runner does, each of which has to succeed; resolves with the exit code. */
async function run(lines: readonly string[], env: Record<string, string>): Promise<{ code: number; said: string }> {
  const given = { PATH: `${folder}:${process.env["PATH"]}`, HOME: folder, ...env };
  return new Promise((done) => {
    execFile("bash", ["-ec", lines.join("\n")], { env: given, cwd: repository.path }, (error, stdout, stderr) =>
      done({ code: Number(error?.code ?? 0), said: stdout + stderr }),
    );
  });
}

const put = (text: string): Promise<void> => writeFile(join(repository.path, "pipelines/orders.yaml"), text);

describe.each(["gitlab", "gitea"] as const)("the job of %s", (kind) => {
  async function job(variables: Record<string, string> = {}): Promise<{ code: number; said: string }> {
    host ??= await GitHost.start({ kind, number: 12 });
    const event = join(folder, "event.json");
    await writeFile(event, JSON.stringify({ pull_request: { number: 12 } }));
    const jobEnv = host.env(event);
    if (kind === "gitlab") {
      const { sluice: found } = await example<{ sluice: { script: string[] } }>("gitlab.yml");
      const env = { ...jobEnv, CI_MERGE_REQUEST_DIFF_BASE_SHA: base, SLUICE_COMMENT_TOKEN: token, ...variables };
      return run(found.script, env);
    }
    const { jobs } = await example<{ jobs: { check: { steps: { run?: string }[] } } }>("gitea.yml");
    return run([jobs.check.steps.at(-1)!.run!], { ...jobEnv, BASE: base, GITHUB_TOKEN: token, ...variables });
  }

  test("comments once, and replaces that", { tags: ["rest"] }, async () => {
    expect((await job()).code).toBe(0);
    expect(host!.comments).toEqual([]);
    await put(filtered);
    expect(await job()).toMatchObject({ code: 0, said: expect.stringContaining("made a comment") as string });
    expect(host!.comments[0]!.body).toContain("orders");
    await put(orders);
    expect(await job()).toMatchObject({ code: 0, said: expect.stringContaining("replaced the comment") as string });
    expect(host!.comments.length).toBe(1);
  });

  const ofGitea = kind === "gitea" ? { tags: ["rest"] } : {};

  test("fails for a bad file, with a comment that says so", ofGitea, async () => {
    await put(orders.replace("type: int", "type: itn"));
    expect((await job()).code).toBe(1);
    expect(host!.comments[0]!.body).toContain("refused");
  });

  const alike = kind === "gitea" && !isEveryCase ? [] : ["fails where it cannot compare"];

  test.each(alike)("%s", { tags: ["rest"] }, async () => {
    const nothing = "0".repeat(40);
    const { code, said } = await job({ BASE: nothing, CI_MERGE_REQUEST_DIFF_BASE_SHA: nothing });
    expect(code).toBe(1);
    expect(said).toContain("expected a branch, tag or commit of the clone");
    expect(host!.comments).toEqual([]);
  });
});

test("the job of GitLab needs no token for anything but the note", { tags: ["rest"] }, async () => {
  const { sluice: found } = await example<{ sluice: { script: string[] } }>("gitlab.yml");
  await put(orders.replace("type: int", "type: itn"));
  const { code } = await run(found.script, { CI_MERGE_REQUEST_DIFF_BASE_SHA: base });
  expect(code).toBe(1);
  const report = await readFile(join(repository.path, "gl-code-quality-report.json"), "utf8");
  expect(JSON.parse(report)).toMatchObject([{ severity: "critical", location: { path: "pipelines/orders.yaml" } }]);
});

test("the hook of pre-commit checks the folder", { tags: ["rest"] }, async () => {
  const { repos } = await example<{ repos: { hooks: { entry: string; files: string }[] }[] }>("pre-commit-config.yaml");
  const { entry, files } = repos[0]!.hooks[0]!;
  expect("pipelines/orders.yaml").toMatch(new RegExp(files));
  expect((await run([entry], {})).code).toBe(0);
  await put(orders.replace("type: int", "type: itn"));
  expect((await run([entry], {})).code).toBe(1);
});

test.each(["examples/ci/github.yml", "examples/config-repo/.github/workflows/pipelines.yml"])(
  "%s gives the action inputs that it has, and the job no more than it needs",
  async (path) => {
    interface Workflow {
      permissions: Record<string, string>;
      jobs: { check: { steps: { uses: string; with: Record<string, unknown> }[] } };
    }
    const { permissions, jobs } = load(await readFile(path, "utf8")) as Workflow;
    expect(permissions).toEqual({ contents: "read", "pull-requests": "write" });
    const step = jobs.check.steps.find(({ uses }) => uses.includes("/.github/actions/validate@"))!;
    const { inputs } = load(await readFile(".github/actions/validate/action.yml", "utf8")) as { inputs: object };
    expect(Object.keys(inputs)).toEqual(expect.arrayContaining(Object.keys(step.with)));
  },
);
