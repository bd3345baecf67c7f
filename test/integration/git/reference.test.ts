import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { serveDaemon, serveHttp } from "../../support/git-server.ts";
import { failure, pathsOf, refusal, Scene, signal } from "./scene.ts";

let scene: Scene;

beforeEach(async () => {
  scene = await Scene.make();
});

afterEach(() => scene.end());

describe("a tag", () => {
  test("is followed, annotated or not, and its move is said once", async () => {
    const first = await scene.origin.commit({ "a.yaml": "one" });
    await scene.origin.git("tag", "v1");
    const source = scene.open({ tag: "v1" });
    expect(await source.fetch(signal)).toMatchObject({ id: `v1@sha1:${first}`, sha: first });
    expect(source.description).toMatchObject({ tag: "v1" });
    const second = await scene.origin.commit({ "a.yaml": "two" });
    await scene.origin.git("tag", "--force", "--annotate", "--message", "now with a message", "v1");
    const moved = await scene.open({ tag: "v1" }).fetch(signal);
    expect(moved).toMatchObject({
      sha: second,
      notes: [`tag v1 was moved from ${first} to ${second}, and is followed`],
    });
    expect((await scene.open({ tag: "v1" }).fetch(signal)).notes).toBeUndefined();
  });

  test("that is missing is an error that names those there are", async () => {
    await scene.origin.commit({ "a.yaml": "one" });
    await scene.origin.git("tag", "v1");
    const error = await failure(scene.open({ tag: "v2" }));
    expect(error.reason).toBe("TagNotFound");
    expect(error.message).toContain("expected tag v2, but it has v1");
  });

  test("that names no commit is refused", async () => {
    await scene.origin.commit({ "a.yaml": "one" });
    await scene.origin.git("tag", "files", "HEAD^{tree}");
    const error = await failure(scene.open({ tag: "files" }));
    expect(error.reason).toBe("CommitNotFound");
    expect(error.message).toContain("expected a tag that names a commit, found a tree");
  });
});

describe("a range of tags", () => {
  test("is followed to the newest tag, annotated or not, which is said; also to an earlier one", async () => {
    const first = await scene.origin.commit({ "a.yaml": "one" });
    await scene.origin.git("tag", "v1.9.0");
    await scene.origin.git("tag", "v2.0.0");
    const source = scene.open({ tag: "v1.*" });
    expect(await source.fetch(signal)).toMatchObject({ id: `v1.9.0@sha1:${first}`, sha: first });
    expect(source.description).toMatchObject({ tag: "v1.*" });
    const second = await scene.origin.commit({ "a.yaml": "two" });
    await scene.origin.git("tag", "--annotate", "--message", "ten", "v1.10.0");
    expect(await source.fetch(signal)).toMatchObject({
      id: `v1.10.0@sha1:${second}`,
      notes: ["the newest tag that v1.* asks for is now v1.10.0, it was v1.9.0"],
    });
    expect((await scene.open({ tag: "v1.*" }).fetch(signal)).notes).toBeUndefined();
    expect((await source.at(first, signal)).sha).toBe(first);
    await scene.origin.git("tag", "--delete", "v1.10.0");
    expect(await source.fetch(signal)).toMatchObject({
      id: `v1.9.0@sha1:${first}`,
      notes: ["the newest tag that v1.* asks for is now v1.9.0, it was v1.10.0"],
    });
  });

  test("moves with a tag that moves, and is there after a restart without the remote", { tags: ["rest"] }, async () => {
    const first = await scene.origin.commit({ "a.yaml": "one" });
    await scene.origin.git("tag", "release-9");
    await scene.origin.git("tag", "release-10");
    const server = await serveHttp(scene.origin.path);
    const settings = { url: server.url, tag: "release-*" };
    expect(await scene.open(settings).fetch(signal)).toMatchObject({ id: `release-10@sha1:${first}` });
    const second = await scene.origin.commit({ "a.yaml": "two" });
    await scene.origin.git("tag", "--force", "release-10");
    expect((await scene.open(settings).fetch(signal)).notes).toEqual([
      `tag release-10 was moved from ${first} to ${second}, and is followed`,
    ]);
    await server.close();
    expect(await scene.open(settings).cached(signal)).toMatchObject({ id: `release-10@sha1:${second}` });
  });

  test("that none fits is an error that names those there are", async () => {
    await scene.origin.commit({ "a.yaml": "one" });
    await scene.origin.git("tag", "v1.0.0");
    const error = await failure(scene.open({ tag: "v2.*" }));
    expect(error.reason).toBe("TagNotFound");
    expect(error.message).toContain("expected a tag that v2.* asks for, but it has v1.0.0: push the tag");
  });

  test("that is none is refused before the remote is asked", () => {
    expect(() => scene.open({ tag: ">= and < 2" })).toThrow(
      '--tag: expected the name of a tag, a range of versions such as "v1.*" or ">=1.2 <2", or a pattern such as "release-*", got ">= and < 2"',
    );
  });
});

describe("a commit", () => {
  test.each([
    ["a server that gives any commit", false],
    ["a server that gives only what a branch points to", true],
  ])("is had from %s, and needs the remote once", async (_title, oldProtocol) => {
    const first = await scene.origin.commit({ "a.yaml": "one" });
    await scene.origin.commit({ "b.yaml": "two" });
    const server = scene.add(await serveHttp(scene.origin.path, undefined, 0, { oldProtocol }));
    const source = scene.open({ url: server.url, commit: first });
    expect(await source.fetch(signal)).toMatchObject({ id: `sha1:${first}`, sha: first });
    const asked = server.requests.length;
    await source.fetch(signal);
    const restarted = await scene.open({ url: server.url, commit: first.toUpperCase() }).fetch(signal);
    expect(pathsOf(restarted)).toEqual(["a.yaml"]);
    expect(server.requests.length).toBe(asked);
  });

  test("that nobody has is refused", async () => {
    await scene.origin.commit({ "a.yaml": "one" });
    const error = await failure(scene.open({ commit: "1".repeat(40) }));
    expect(error.reason).toBe("CommitNotFound");
    expect(error.message).toContain(`expected commit ${"1".repeat(40)}, but no branch contains it`);
  });

  test("must be named whole, and without a branch beside it", () => {
    expect(() => scene.open({ commit: "abc1234" })).toThrow("--commit: expected the whole hash of a commit");
    expect(() => scene.open({ commit: "1".repeat(40), tag: "v1" })).toThrow("--tag and --commit exclude each other");
  });
});

describe("a commit of the branch that is asked for by its hash", () => {
  test("is had where the branch contains it, also after a restart without the remote", async () => {
    const first = await scene.origin.commit({ "a.yaml": "one" });
    const second = await scene.origin.commit({ "b.yaml": "two" });
    const server = await serveHttp(scene.origin.path);
    const source = scene.open({ url: server.url });
    const newest = await source.fetch(signal);
    expect(await source.at(first, signal)).toMatchObject({ id: `main@sha1:${first}`, sha: first });
    expect((await source.cached(signal))?.sha).toBe(second);
    expect(await source.fetch(signal)).toBe(newest);
    await server.close();
    expect(pathsOf(await scene.open({ url: server.url }).at(first, signal))).toEqual(["a.yaml"]);
  });

  test(
    "is had without the remote wherever it was followed before, also after a restart and a history that was rewritten",
    { tags: ["rest"] },
    async () => {
      const server = await serveHttp(scene.origin.path);
      const shas: string[] = [];
      for (const name of ["a", "b", "c"]) {
        shas.push(await scene.origin.commit({ [`${name}.yaml`]: name }));
        await scene.open({ url: server.url }).fetch(signal);
      }
      shas.push(await scene.origin.replaceHistory({ "d.yaml": "d" }));
      await scene.open({ url: server.url }).fetch(signal);
      await server.close();
      const source = scene.open({ url: server.url });
      expect((await source.cached(signal))?.sha).toBe(shas[3]);
      const had: unknown[] = [];
      for (const sha of shas) had.push(pathsOf(await source.at(sha, signal)));
      expect(had).toEqual([["a.yaml"], ["a.yaml", "b.yaml"], ["a.yaml", "b.yaml", "c.yaml"], ["d.yaml"]]);
      const clone = await scene.cloneFolder();
      const kept = await scene.origin.git(
        "--git-dir",
        clone,
        "for-each-ref",
        "--format=%(objectname)",
        "refs/sluice/kept",
      );
      expect(kept.trim().split("\n").toSorted()).toEqual(shas.toSorted());
    },
  );

  test("is refused where only another branch has it", async () => {
    await scene.origin.commit({ "a.yaml": "one" });
    await scene.origin.git("checkout", "--quiet", "-b", "other");
    const other = await scene.origin.commit({ "b.yaml": "two" });
    const error = await refusal(scene.open().at(other, signal));
    expect(error.reason).toBe("CommitNotFound");
    expect(error.message).toContain(`branch main does not contain commit ${other}: name one of its commits`);
  });

  test("is had where the branch was rewritten since it was followed", { tags: ["rest"] }, async () => {
    const first = await scene.origin.commit({ "a.yaml": "one" });
    const source = scene.open();
    await source.fetch(signal);
    const second = await scene.origin.replaceHistory({ "b.yaml": "other" });
    expect(await source.fetch(signal)).toMatchObject({ sha: second });
    expect(pathsOf(await source.at(first, signal))).toEqual(["a.yaml"]);
  });
});

describe("a history", () => {
  test("that was rewritten is followed, and said once", async () => {
    const first = await scene.origin.commit({ "a.yaml": "one" });
    const source = scene.open();
    await source.fetch(signal);
    const second = await scene.origin.replaceHistory({ "b.yaml": "other" });
    const revision = await scene.open().fetch(signal);
    expect(revision).toMatchObject({
      sha: second,
      notes: [`the history of main was rewritten: ${first}, which was followed, is not in it any more`],
    });
    expect((await scene.open().fetch(signal)).notes).toBeUndefined();
  });

  test("that grew by many commits at once was not", { tags: ["rest"] }, async () => {
    await scene.origin.commit({ "a.yaml": "one" });
    await scene.open().fetch(signal);
    for (const text of ["two", "three", "four"]) await scene.origin.commit({ "a.yaml": text });
    expect((await scene.open().fetch(signal)).notes).toBeUndefined();
  });
});

describe("the last good revision", () => {
  test(
    "is there without the remote, also after a restart, and no failure replaces it",
    { tags: ["rest"] },
    async () => {
      const sha = await scene.origin.commit({ "a.yaml": "one" });
      const server = await serveHttp(scene.origin.path);
      expect(await scene.open({ url: server.url }).cached(signal)).toBeUndefined();
      const revision = await scene.open({ url: server.url }).fetch(signal);
      await server.close();
      const restarted = scene.open({ url: server.url });
      expect((await failure(restarted)).reason).toBe("ConnectionRefused");
      expect(await restarted.cached(signal)).toEqual(revision);
      expect(restarted.description).toMatchObject({ branch: "main" });
      expect(revision.sha).toBe(sha);
    },
  );

  test("of another branch is none", async () => {
    await scene.origin.commit({ "a.yaml": "one" });
    await scene.open().fetch(signal);
    expect(await scene.open({ branch: "prod" }).cached(signal)).toBeUndefined();
  });
});

test("git daemon is read, with a warning", async () => {
  const sha = await scene.origin.commit({ "a.yaml": "one" });
  const server = scene.add(await serveDaemon(scene.origin.path));
  const source = scene.open({ url: server.url });
  expect((await source.fetch(signal)).sha).toBe(sha);
  expect(source.warnings).toEqual([expect.stringContaining("is neither encrypted nor authenticated")]);
  expect((await failure(scene.open({ url: `${server.url}-not` }))).reason).toBe("RepositoryNotFound");
});
