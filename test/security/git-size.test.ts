import { execFileSync } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { RepositoryOptions } from "../../reconciler/git/repository.ts";
import { Workplace } from "../support/daemon.ts";
import { serveHttp } from "../support/git-server.ts";
import { failure, pathsOf, Scene, signal } from "../integration/git/scene.ts";
import { commitLarge, commitMany } from "./git-payloads.ts";

/** Who may push, and a Git server, cannot fill the disk of the machine that follows (docs/security.md). */

vi.setConfig({ testTimeout: 120_000 });

const mebibyte = 1 << 20;
let scene: Scene;

beforeEach(async () => {
  scene = await Scene.make();
});

afterEach(() => scene.end());

const maxSize = mebibyte;

/** Bytes of everything that Git wrote into the data dir. */
function stored(): number {
  const output = execFileSync("du", ["-s", "-B1", "--apparent-size", join(scene.dataDir, "git")], { encoding: "utf8" });
  return Number(output.split("\t")[0]);
}

async function expectNothingLeft(_title: string, protocol: { oldProtocol?: boolean }): Promise<void> {
  await scene.origin.commit({ "a.yaml": "one" });
  const server = scene.add(await serveHttp(scene.origin.path, undefined, 0, protocol));
  const source = scene.open({ url: server.url, maxSize });
  const good = await source.fetch(signal);
  const before = stored();
  await commitLarge(scene.origin, 5 * (mebibyte / 2));
  const error = await failure(source);
  expect(error).toMatchObject({ reason: "TooLarge", stalls: true });
  expect(error.message).toMatch(
    /a fetch brought \d+ MiB, and was ended: expected at most 1 MiB, the size of --git-max-size/,
  );
  expect(stored() - before).toBeLessThan(64 * 1024);
  expect(await source.cached(signal)).toBe(good);
  await scene.origin.git("reset", "--quiet", "--hard", "HEAD~1");
  await scene.origin.commit({ "b.yaml": "two" });
  expect(pathsOf(await source.fetch(signal))).toEqual(["a.yaml", "b.yaml"]);
}

test.each([["over smart HTTP", {}]] as const)(
  "a commit that is too large is not fetched, and leaves nothing behind: %s",
  expectNothingLeft,
);

test.each([["by the old protocol, in which a helper of git writes", { oldProtocol: true }]] as const)(
  "a commit that is too large is not fetched, and leaves nothing behind: %s",
  { tags: ["rest"] },
  expectNothingLeft,
);

test("a fetch is ended while it goes on, with the helpers of git", { tags: ["rest"] }, async () => {
  await commitLarge(scene.origin, 5 * (mebibyte / 2));
  // The rest never comes: who waits for it does so for good.
  const each = (sent: number): Promise<void> =>
    sent < 2 * mebibyte ? Promise.resolve() : new Promise<never>(() => undefined);
  const server = scene.add(await serveHttp(scene.origin.path, undefined, 0, { each }));
  expect((await failure(scene.open({ url: server.url, maxSize }))).reason).toBe("TooLarge");
  expect(gitProcesses(server.url)).toEqual([]);
});

/** Command lines with the URL of a server. */
function gitProcesses(url: string): string[] {
  const table = execFileSync("ps", ["-eo", "args="], { encoding: "utf8" });
  return table.split("\n").filter((line) => line.includes(url));
}

test("the first fetch of a repository that is too large leaves nothing behind either", { tags: ["rest"] }, async () => {
  await commitLarge(scene.origin, 5 * (mebibyte / 2));
  const options: Partial<RepositoryOptions> = { url: `file://${scene.origin.path}`, maxSize };
  expect((await failure(scene.open(options))).reason).toBe("TooLarge");
  const packs = join(await scene.cloneFolder(), "objects", "pack");
  expect(await readdir(packs)).toEqual([]);
});

test(
  "many commits that each replace a file take no more than twice the limit, and the last good one stays",
  { tags: ["rest"] },
  async () => {
    let largest = 0;
    const source = scene.open({ maxSize });
    await commitMany(scene.origin, { commits: 8, bytes: mebibyte / 2 }, async () => {
      await source.fetch(signal);
      largest = Math.max(largest, stored());
    });
    expect(largest).toBeLessThan(2.2 * maxSize);
    expect((await scene.open({ maxSize }).cached(signal))?.subject).toBe("Revision 7");
  },
);

test("the condition of the source says size, limit and setting", { tags: ["rest"] }, async () => {
  await commitLarge(scene.origin, 4 * mebibyte);
  const place = await Workplace.make();
  try {
    const args = ["--repo", `file://${scene.origin.path}`, "--git-max-size", "1Mi"];
    const daemon = await place.start({ args });
    const condition = await daemon.until(async () => {
      const { conditions } = await daemon.get<{ conditions: { reason: string; message: string }[] }>(
        "/api/v1/reconcile",
      );
      return conditions.find(({ reason }) => reason === "TooLarge");
    }, "to refuse the repository");
    expect(condition.message).toMatch(/a fetch brought \d+ MiB, .*at most 1 MiB, the size of --git-max-size/);
  } finally {
    await place.clean();
  }
});
