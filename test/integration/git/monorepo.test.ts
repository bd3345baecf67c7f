import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Clone } from "../../../reconciler/git/clone.ts";
import { Credentials } from "../../../reconciler/git/credentials.ts";
import { defaultTimeouts } from "../../../reconciler/git/environment.ts";
import { Git } from "../../../reconciler/git/git.ts";
import { defaultLimits } from "../../../reconciler/git/limits.ts";
import { bytesOf, objectFiles } from "../../../reconciler/git/object-files.ts";
import { parseRemote } from "../../../reconciler/git/remote.ts";
import { serveHttp } from "../../support/git-server.ts";
import { pathsOf, Scene, signal } from "./scene.ts";

let scene: Scene;

beforeEach(async () => {
  scene = await Scene.make();
  await scene.origin.git("config", "uploadpack.allowFilter", "true");
});

afterEach(() => scene.end());

/** What is no part of the path: it cannot be compressed. */
const large = () => randomBytes(1 << 20);
const kibibytes = async () => Math.ceil(bytesOf(await objectFiles(await scene.cloneFolder())) / 1024);

async function commits(count: number): Promise<string[]> {
  const shas: string[] = [];
  for (let at = 1; at <= count; at += 1)
    shas.push(await scene.origin.commit({ "pipelines/sub/a.yaml": `at: ${at}`, [`videos/${at}.bin`]: large() }));
  return shas;
}

describe("of a repository of many things with --path", () => {
  test("only what lies below is fetched and kept", async () => {
    const server = scene.add(await serveHttp(scene.origin.path));
    const settings = { url: server.url, path: "pipelines", maxSize: 1 << 20 };
    const source = scene.open(settings);
    const [first = ""] = await commits(1);
    expect(pathsOf(await source.fetch(signal))).toEqual(["pipelines/sub/a.yaml"]);
    const [second] = await commits(3).then((shas) => shas.slice(-1));
    const newest = await source.fetch(signal);
    expect([newest.sha, newest.files[0]?.bytes.toString()]).toEqual([second, "at: 3"]);
    expect((await source.at(first, signal)).files[0]?.bytes.toString()).toBe("at: 1");
    expect(await kibibytes()).toBeLessThan(300);
    await server.close();
    expect((await scene.open(settings).cached(signal))?.sha).toBe(second);
  });

  test("approvals are read too, wherever the path is", { tags: ["rest"] }, async () => {
    const approval = `forget-${"0".repeat(32)}`;
    await scene.origin.commit({ "deep/pipelines/a.yaml": "a", "approvals/1.txt": approval, "b.bin": large() });
    const server = scene.add(await serveHttp(scene.origin.path));
    const revision = await scene.open({ url: server.url, path: "deep/pipelines", approvals: true }).fetch(signal);
    expect([pathsOf(revision), revision.approvals]).toEqual([["deep/pipelines/a.yaml"], [approval]]);
    expect(await kibibytes()).toBeLessThan(300);
  });

  test(
    "a path that comes into being later, and one that is followed after another, are read",
    { tags: ["rest"] },
    async () => {
      const server = scene.add(await serveHttp(scene.origin.path));
      await scene.origin.commit({ "other/b.yaml": "b" });
      const source = scene.open({ url: server.url, path: "pipelines" });
      expect(pathsOf(await source.fetch(signal))).toEqual([]);
      await commits(1);
      expect(pathsOf(await source.fetch(signal))).toEqual(["pipelines/sub/a.yaml"]);
      expect(pathsOf(await scene.open({ url: server.url, path: "other" }).fetch(signal))).toEqual(["other/b.yaml"]);
      expect(pathsOf(await scene.open({ url: server.url }).fetch(signal))).toEqual([
        "other/b.yaml",
        "pipelines/sub/a.yaml",
      ]);
    },
  );

  test.each<[string, { filter: boolean; oldProtocol: boolean }]>([
    ["offers no filter", { filter: false, oldProtocol: false }],
    ["gives no file by its hash", { filter: true, oldProtocol: true }],
  ])("everything is fetched where the server %s", { tags: ["rest"] }, async (_title, { filter, oldProtocol }) => {
    await scene.origin.git("config", "uploadpack.allowFilter", String(filter));
    const server = scene.add(await serveHttp(scene.origin.path, undefined, 0, { oldProtocol }));
    const source = scene.open({ url: server.url, path: "pipelines" });
    await commits(1);
    expect(pathsOf(await source.fetch(signal))).toEqual(["pipelines/sub/a.yaml"]);
    const [second] = await commits(1);
    expect((await source.fetch(signal)).sha).toBe(second);
    expect(await kibibytes()).toBeGreaterThan(1_000);
  });

  test("everything is fetched where a read leads outside of the path", { tags: ["rest"] }, async () => {
    await commits(1);
    const server = scene.add(await serveHttp(scene.origin.path));
    const remote = parseRemote(server.url);
    const limits = { timeouts: defaultTimeouts, maxSize: 1 << 30 };
    const git = new Git(remote, new Credentials({}, remote, undefined), process.env, limits);
    const folder = join(scene.dataDir, "git", "0");
    const clone = new Clone(folder, git, remote, async (at, { commit }) => {
      await git.text(at, ["cat-file", "-s", `${commit}:videos/1.bin`], signal);
      return undefined;
    });
    const sha = await scene.origin.head();
    const wanted = { path: "pipelines", limits: defaultLimits, display: "it" };
    const found = await clone.newest({ ref: "refs/heads/main", name: "main", sha, object: sha }, wanted, signal);
    expect(found.files.map(({ path }) => path)).toEqual(["pipelines/sub/a.yaml"]);
    expect(await kibibytes()).toBeGreaterThan(1_000);
  });

  test("files that are missing of a commit that is here are fetched", { tags: ["rest"] }, async () => {
    await commits(1);
    const server = scene.add(await serveHttp(scene.origin.path));
    await scene.open({ url: server.url, path: "videos-of-none" }).fetch(signal);
    const { files } = await scene.open({ url: server.url, path: "pipelines" }).fetch(signal);
    expect(files.map(({ path }) => join(path))).toEqual(["pipelines/sub/a.yaml"]);
  });
});
