import { execFileSync } from "node:child_process";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { gitScript } from "../../support/git-inside.ts";
import { GitRepository } from "../../support/git-repository.ts";
import { serveDaemon, serveHttp } from "../../support/git-server.ts";
import { failure, pathsOf, Scene, signal } from "./scene.ts";

let scene: Scene;

beforeEach(async () => {
  scene = await Scene.make();
});

afterEach(() => scene.end());

/** The environment of a person with these settings in the file of their home. */
async function personWith(settings: string): Promise<NodeJS.ProcessEnv> {
  const home = join(scene.dataDir, "home");
  await mkdir(home);
  await writeFile(join(home, ".gitconfig"), settings);
  const { GIT_CONFIG_GLOBAL: _global, GIT_CONFIG_SYSTEM: _system, XDG_CONFIG_HOME: _xdg, ...rest } = process.env;
  return { ...rest, HOME: home };
}

function findingNoBareRepository(git: string): string {
  return `exec ${git} -c safe.bareRepository=explicit "$@"`;
}

/** A program that notes that it was asked, and never answers. */
async function silentHelper(): Promise<{ program: string; note: string }> {
  const [program, note] = [join(scene.dataDir, "helper"), join(scene.dataDir, "asked")];
  await writeFile(program, `#!/bin/sh\necho "$1" >> ${note}\nexec sleep 600\n`);
  await chmod(program, 0o700);
  return { program, note };
}

describe("settings of the person who runs Sluice", () => {
  test("do not decide what is fetched, nor whether", async () => {
    const sha = await scene.origin.commit({ "a.yaml": "one" });
    const env = await personWith(`
      [safe]
        bareRepository = explicit
      [init]
        defaultObjectFormat = sha256
      [fetch]
        fsckObjects = maybe
      [remote]
        pushDefault = nowhere
      [i18n]
        logOutputEncoding = latin1
      [core]
        alternateRefsCommand = false
        compression = 99
      [http]
        followRedirects = true
        extraHeader = "X-Test: one"
    `);
    const server = scene.add(await serveHttp(scene.origin.path));
    for (const url of [scene.origin.path, server.url]) {
      const source = scene.open({ url, env });
      expect((await source.fetch(signal)).sha).toBe(await scene.origin.head());
      const next = await scene.origin.commit({ "b.yaml": url });
      expect(await source.fetch(signal)).toMatchObject({ sha: next });
      expect((await source.at(sha, signal)).sha).toBe(sha);
    }
  });

  test("do not decide either where Git itself finds no bare repository any more", async () => {
    const sha = await scene.origin.commit({ "a.yaml": "one" });
    const PATH = await gitScript(join(scene.dataDir, "programs"), findingNoBareRepository);
    const source = scene.open({ env: { ...process.env, PATH } });
    expect(await source.fetch(signal)).toMatchObject({ sha });
  });

  test("say how its servers are reached", async () => {
    const sha = await scene.origin.commit({ "a.yaml": "one" });
    const server = scene.add(await serveHttp(scene.origin.path, { token: "t0ken" }));
    const env = await personWith(`
      [url "http://127.0.0.1:${server.port}/"]
        insteadOf = https://git.example.com/
      [http "http://127.0.0.1:${server.port}/"]
        extraHeader = Authorization: Bearer t0ken
    `);
    const url = server.url.replace(/^http:\/\/[^/]+/, "https://git.example.com");
    expect(await scene.open({ url, env }).fetch(signal)).toMatchObject({ sha });
  });

  test("say whose folders may be read", async ({ skip }) => {
    if (process.getuid?.() !== 0) skip("only root can give a folder away");
    const sha = await scene.origin.commit({ "a.yaml": "one" });
    execFileSync("chown", ["-R", "12345", scene.origin.path]);
    expect((await failure(scene.open())).message).toContain("dubious ownership");
    const env = await personWith(`[safe]\ndirectory = /elsewhere\ndirectory = ${scene.origin.path}/.git\n`);
    expect(await scene.open({ env }).fetch(signal)).toMatchObject({ sha });
  });

  test("that cannot be read are named", async () => {
    await scene.origin.commit({ "a.yaml": "one" });
    const error = await failure(scene.open({ env: await personWith("[core\n") }));
    expect(error.message).toMatch(/bad config line 1 in file .*\.gitconfig/);
  });
});

describe("a program for credentials that never answers", () => {
  test("is not asked where the settings of Sluice have them", async () => {
    await scene.origin.commit({ "a.yaml": "one" });
    const server = scene.add(await serveHttp(scene.origin.path, { user: "ada", password: "right" }));
    const { program, note } = await silentHelper();
    const env = await personWith(`[credential]\nhelper = ${program}\n[core]\naskPass = ${program}\n`);
    const access = { username: "ada", password: "wrong" };
    const asking = { ...env, GIT_ASKPASS: program, SSH_ASKPASS: program };
    const error = await failure(scene.open({ url: server.url, env: asking, access, timeouts: patient }));
    expect([error.reason, error.message]).toEqual([
      "AuthenticationFailed",
      expect.stringContaining("check the credentials"),
    ]);
    expect(await readFile(note, "utf8").catch(() => "")).toBe("");
  });

  test("is given up where they have none, and named", async () => {
    await scene.origin.commit({ "a.yaml": "one" });
    const server = scene.add(await serveHttp(scene.origin.path, { user: "ada", password: "right" }));
    const { program, note } = await silentHelper();
    const env = await personWith(`[credential]\nhelper = ${program}\n`);
    const error = await failure(scene.open({ url: server.url, env, timeouts: { silence: 1_500, total: 60_000 } }));
    expect([error.reason, error.message]).toEqual([
      "AuthenticationFailed",
      expect.stringContaining("no credential helper of Git's settings gave any within 1.5 s of silence"),
    ]);
    expect(await readFile(note, "utf8")).toBe("get\n");
  });
});

/** Milliseconds that only end a hang. */
const patient = { silence: 120_000, total: 240_000 };

test("a repository of SHA-256 is followed, over a folder, HTTP and the daemon, and gone back in", async () => {
  const origin = await GitRepository.create("main", "sha256");
  scene.add({ close: () => origin.remove() });
  const first = await origin.commit({ "a.yaml": "one" });
  const second = await origin.commit({ "b.yaml": "two" });
  const servers = [scene.add(await serveHttp(origin.path)), scene.add(await serveDaemon(origin.path))];
  for (const { url } of servers)
    expect(await scene.open({ url }).fetch(signal)).toMatchObject({ id: `main@sha256:${second}` });
  const source = scene.open({ url: origin.path });
  expect(pathsOf(await source.fetch(signal))).toEqual(["a.yaml", "b.yaml"]);
  expect(pathsOf(await source.at(first, signal))).toEqual(["a.yaml"]);
  const dataDir = join(scene.dataDir, "other");
  expect(await scene.open({ url: origin.path, commit: first, dataDir }).fetch(signal)).toMatchObject({
    id: `sha256:${first}`,
  });
});

test("a repository that is made anew with SHA-256 at the same place is followed", { tags: ["rest"] }, async () => {
  const before = await scene.origin.commit({ "a.yaml": "one" });
  const source = scene.open();
  await source.fetch(signal);
  await scene.origin.remakeAs("sha256");
  const after = await scene.origin.commit({ "b.yaml": "two" });
  const revision = await source.fetch(signal);
  expect(revision).toMatchObject({ id: `main@sha256:${after}` });
  expect(revision.notes).toEqual([
    `the history of main was rewritten: ${before}, which was followed, is not in it any more`,
  ]);
});
