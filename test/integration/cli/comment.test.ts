import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { main } from "../../../reconciler/cli/main.ts";
import { GitHost, token } from "../../support/git-host.ts";

const plan = "<!-- sluice-plan -->\n\n### Sluice: 1 update\n";

let folder: string;
let host: GitHost;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-comment-"));
  host = await GitHost.start({ kind: "gitlab", number: 12 });
  await writeFile(join(folder, "plan.md"), plan);
});

afterEach(async () => {
  await host.stop();
  await rm(folder, { recursive: true, force: true });
});

async function comment(
  env: Record<string, string>,
  ...argv: string[]
): Promise<{ code: number; out: string; err: string }> {
  const printed = { out: [] as string[], err: [] as string[] };
  const code = await main(["comment", ...argv], {
    terminal: { out: (text) => void printed.out.push(text), err: (text) => void printed.err.push(text) },
    env: { ...host.env(""), ...env },
    untilStopped: () => AbortSignal.abort(),
  });
  return { code, out: printed.out.join("\n"), err: printed.err.join("\n") };
}

test("a merge request gets one comment, and says where it is", async () => {
  const file = join(folder, "plan.md");
  const first = await comment({ GITLAB_TOKEN: token }, file);
  expect(first).toEqual({
    code: 0,
    out: "made a comment: https://git.example/data/config/-/merge_requests/12#note_100",
    err: "",
  });
  await writeFile(file, plan.replace("1 update", "2 updates"));
  expect((await comment({ GITLAB_TOKEN: token }, file)).out).toMatch(/^replaced the comment: /);
  expect(host.comments).toMatchObject([{ body: plan.replace("1 update", "2 updates") }]);
});

test("with --existing none is made, and one that is there is replaced", async () => {
  const file = join(folder, "plan.md");
  expect(await comment({ GITLAB_TOKEN: token }, file, "--existing")).toMatchObject({
    code: 0,
    out: "no comment is there to replace",
  });
  expect(host.comments).toEqual([]);
});

describe("it says what is wrong, and shows no token", () => {
  test.each<[title: string, text: string, env: Record<string, string>, said: string]>([
    [
      "a file without a marker",
      "### Plan\n",
      { GITLAB_TOKEN: token },
      "expected a first line such as <!-- my-plan -->",
    ],
    [
      "a file that is too large",
      `<!-- a -->\n${"x".repeat(1 << 20)}`,
      { GITLAB_TOKEN: token },
      "expected at most 1048576 bytes",
    ],
    ["no token", plan, {}, "expected a token in one of SLUICE_COMMENT_TOKEN, GITHUB_TOKEN, GITLAB_TOKEN, found none"],
    ["a token that is none", plan, { SLUICE_COMMENT_TOKEN: "secret-1" }, "answered 401: Bad credentials"],
    [
      "a job of no merge request",
      plan,
      { GITLAB_TOKEN: token, CI_MERGE_REQUEST_IID: "" },
      "this job runs for no pull request",
    ],
    [
      "no job",
      plan,
      { GITLAB_TOKEN: token, GITLAB_CI: "" },
      "expected a job of GitHub Actions, Gitea, Forgejo or GitLab CI",
    ],
  ])("%s", async (_title, text, env, said) => {
    const file = join(folder, "given.md");
    await writeFile(file, text);
    const { code, out, err } = await comment(env, file);
    expect([code, out]).toEqual([1, ""]);
    expect(err).toContain(said);
    expect(err).not.toMatch(/secret-1|ghs_/);
  });
});
