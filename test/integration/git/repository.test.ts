import { execFileSync } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Repository } from "../../../reconciler/git/repository.ts";
import type { RepositoryOptions } from "../../../reconciler/git/repository.ts";
import { SourceError } from "../../../reconciler/git/revision.ts";
import type { Revision } from "../../../reconciler/git/revision.ts";
import { gitScript } from "../../support/git-inside.ts";
import { GitRepository } from "../../support/git-repository.ts";
import { makeSshKey, serveHttp, serveSilence, serveSsh } from "../../support/git-server.ts";

const signal = new AbortController().signal;
let origin: GitRepository;
let dataDir: string;
const cleanups: (() => Promise<void>)[] = [];

beforeEach(async () => {
  origin = await GitRepository.create();
  dataDir = await mkdtemp(join(tmpdir(), "sluice-data-"));
  cleanups.push(
    () => origin.remove(),
    () => rm(dataDir, { recursive: true, force: true }),
  );
});

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

function open(options: Partial<RepositoryOptions> = {}): Repository {
  return new Repository({ url: origin.path, branch: "main", dataDir, env: process.env, ...options });
}

const paths = (revision: Revision) => revision.files.map(({ path }) => path);
const textOf = (revision: Revision, path: string) =>
  revision.files.find((file) => file.path === path)?.bytes.toString("utf8");

/** The error of a fetch that must fail. */
async function failure(repository: Repository): Promise<SourceError> {
  const error = await repository.fetch(signal).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(SourceError);
  return error as SourceError;
}

/** The clone's folder, once there is one. */
async function cloneFolder(): Promise<string> {
  const names = await readdir(join(dataDir, "git"));
  return join(dataDir, "git", names.find((name) => /^[0-9a-f]+$/.test(name)) ?? "");
}

describe("a revision", () => {
  test("names branch, commit, author and subject, and holds the YAML and JSON files of the tree in order", async () => {
    const sha = await origin.commit(
      { "b.yaml": "b: 1", "a/c.json": "{}", "README.md": "no", "a/d.YML": "d: 1" },
      "Add\u001b[31m pipelines",
    );
    const revision = await open().fetch(signal);
    expect(revision).toMatchObject({
      id: `main@sha1:${sha}`,
      sha,
      branch: "main",
      author: "Ada",
      subject: "Add [31m pipelines",
    });
    expect(revision.committedAt).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
    expect(paths(revision)).toEqual(["a/c.json", "a/d.YML", "b.yaml"]);
    expect(textOf(revision, "b.yaml")).toBe("b: 1");
  });

  test("takes few processes of git, of which one changes all references: what is no longer followed goes with it", async () => {
    const commands = join(dataDir, "commands");
    const PATH = await gitScript(join(dataDir, "programs"), (git) => `echo "$1" >>${commands}\nexec ${git} "$@"`);
    const first = await origin.commit({ "a.yaml": "one" });
    const repository = open({ env: { ...process.env, PATH } });
    await repository.fetch(signal);
    const inClone = async (...args: string[]) => origin.git("--git-dir", await cloneFolder(), ...args);
    await inClone("update-ref", `refs/sluice/kept/${"0".repeat(39)}1`, first);
    await rm(commands);
    const second = await origin.commit({ "a.yaml": "two" });
    expect((await repository.fetch(signal)).sha).toBe(second);
    const run = (await readFile(commands, "utf8")).trim().split("\n");
    expect(run.filter((command) => command === "update-ref")).toHaveLength(1);
    expect(run.length, run.join(" ")).toBeLessThan(12);
    const names = await inClone("for-each-ref", "--format=%(refname)", "refs/sluice/kept");
    expect(names.trim().split("\n").toSorted()).toEqual(
      [first, second].map((sha) => `refs/sluice/kept/${sha}`).toSorted(),
    );
  });

  test("keeps bytes as they are: no line end is converted, no filter runs", async () => {
    const bytes = Buffer.concat([Buffer.from("\uFEFFid: $Id$\r\n"), Buffer.from([0xff, 0x00])]);
    await origin.commit({ "a.yaml": bytes, "empty.yaml": "", ".gitattributes": "*.yaml ident" });
    const revision = await open().fetch(signal);
    expect(revision.files.map((file) => file.bytes)).toEqual([bytes, Buffer.alloc(0)]);
  });

  test("is limited to --path", async () => {
    await origin.commit({ "prod/a.yaml": "a", "prod-old/b.yaml": "b", "c.yaml": "c" });
    expect(paths(await open({ path: "./prod/" }).fetch(signal))).toEqual(["prod/a.yaml"]);
  });

  test("has no files where --path is not in the commit", async () => {
    await origin.commit({ "a.yaml": "a" });
    expect(paths(await open({ path: "nowhere" }).fetch(signal))).toEqual([]);
  });

  test("names symbolic links, submodules and huge files, and reads none of them", async () => {
    await origin.commit({ "a.yaml": "a", "link.yaml": { link: "/etc/passwd" }, "huge.yaml": "x".repeat(100) });
    await origin.git("-c", "protocol.file.allow=always", "submodule", "add", "--quiet", origin.path, "sub");
    await origin.commit({});
    const revision = await open({ limits: { files: 10, fileBytes: 99, bytes: 1000 } }).fetch(signal);
    expect(paths(revision)).toEqual(["a.yaml"]);
    expect(revision.skipped.map(({ path }) => path).toSorted()).toEqual(["huge.yaml", "link.yaml", "sub"]);
  });

  test.each([
    ["too many files", { files: 1, fileBytes: 99, bytes: 99 }],
    ["too many bytes", { files: 9, fileBytes: 99, bytes: 3 }],
  ])("is refused whole where the folder holds %s", async (_title, limits) => {
    await origin.commit({ "a.yaml": "aa", "b.yaml": "bb" });
    expect(await failure(open({ limits }))).toMatchObject({ reason: "TooLarge", stalls: true });
  });

  test("follows the remote's default branch where none is named", async () => {
    const sha = await origin.commit({ "a.yaml": "a" });
    const repository = open();
    const follower = new Repository({ url: origin.path, dataDir, env: process.env });
    expect((await follower.fetch(signal)).id).toBe(`main@sha1:${sha}`);
    expect(follower.description).toEqual({ ...repository.description, branch: "main" });
  });
});

describe("a remote", () => {
  test("may be a folder or a file URL", async () => {
    const sha = await origin.commit({ "a.yaml": "a" });
    for (const url of [origin.path, `file://${origin.path}`]) {
      expect((await open({ url }).fetch(signal)).sha).toBe(sha);
    }
  });

  test("may be smart HTTP, and costs one round trip while it is unchanged", async () => {
    const sha = await origin.commit({ "a.yaml": "a" });
    const server = await serveHttp(origin.path);
    cleanups.push(() => server.close());
    const operations: string[] = [];
    const repository = open({ url: server.url });
    const first = await repository.fetch(signal);
    expect(first.sha).toBe(sha);
    expect(await repository.fetch(signal, (op, result) => operations.push(`${op} ${result}`))).toBe(first);
    expect(operations).toEqual(["ls-remote success"]);
  });

  test("that wants a password gets the one of the URL, which lies in no file", async () => {
    await origin.commit({ "a.yaml": "a" });
    const server = await serveHttp(origin.path, { user: "ada", password: "s3cret/pass" });
    cleanups.push(() => server.close());
    const url = server.url.replace("http://", "http://ada:s3cret%2Fpass@");
    const repository = open({ url });
    expect(paths(await repository.fetch(signal))).toEqual(["a.yaml"]);
    expect(JSON.stringify(repository.description)).not.toMatch(/s3cret|ada/);
    expect(() => execFileSync("grep", ["-r", "s3cret", dataDir])).toThrow("Command failed");
  });

  test("that refuses the password is an error without it", async () => {
    await origin.commit({ "a.yaml": "a" });
    const server = await serveHttp(origin.path, { user: "ada", password: "right" });
    cleanups.push(() => server.close());
    const error = await failure(open({ url: server.url.replace("http://", "http://ada:wr0ng-pass@") }));
    expect(error.reason).toBe("AuthenticationFailed");
    expect(`${error.message} ${error.stack} ${JSON.stringify(error)}`).not.toMatch(/wr0ng-pass|ada:/);
    expect(error.message).toContain("check the credentials");
  });

  test("that is not there is an error that says so", async () => {
    const server = await serveHttp(origin.path);
    await server.close();
    const error = await failure(open({ url: server.url }));
    expect(error.reason).toBe("ConnectionRefused");
    expect(error.message).toContain(`127.0.0.1:${server.port}`);
    expect((await failure(open({ url: join(dataDir, "nothing") }))).message).toMatch(
      /nothing.*(not appear|not found|does not)/,
    );
  });

  test("that takes the connection and never answers is given up, and git with it", async () => {
    const server = await serveSilence();
    cleanups.push(() => server.close());
    const error = await failure(open({ url: server.url, timeouts: { silence: 1_300, total: 20_000 } }));
    expect(error).toMatchObject({ reason: "Timeout" });
    await expect.poll(() => server.open(), { timeout: 60_000 }).toBe(0);
  });

  test("that never answers is left at once when the process ends", async () => {
    const server = await serveSilence();
    cleanups.push(() => server.close());
    const ending = new AbortController();
    const timeouts = { silence: 1_300, total: 20_000 };
    const fetching = open({ url: server.url, timeouts }).fetch(ending.signal);
    await expect.poll(() => server.open(), { timeout: 60_000 }).toBe(1);
    ending.abort(new Error("the process ends"));
    await expect(fetching).rejects.toThrow("the process ends");
    await expect.poll(() => server.open(), { timeout: 60_000 }).toBe(0);
  });

  test("cannot be read without Git, which the error says", async () => {
    const error = await failure(open({ env: { PATH: dataDir } }));
    expect(error.message).toBe("expected the program git on the PATH, found none: install Git");
  });

  test("without the branch is an error that names those it has", async () => {
    await origin.commit({ "a.yaml": "a" });
    const error = await failure(open({ branch: "prod" }));
    expect(error).toMatchObject({ reason: "BranchNotFound" });
    expect(error.message).toContain("expected branch prod, but it has main");
  });

  test("without a commit is an error that says what to do", async () => {
    expect((await failure(open())).message).toContain("no branch at all: commit a first pipeline file");
  });
});

describe("a remote over ssh", () => {
  test("is read with the user's key; a host that is not known is refused", async ({ skip }) => {
    if (!hasSsh()) {
      if (process.env["CI"] === "true") throw new Error("the ssh client is missing");
      skip("the ssh client is not installed");
    }
    const sha = await origin.commit({ "a.yaml": "a" });
    for (const name of ["host", "user"]) makeSshKey(join(dataDir, name));
    const [hostKey, publicKey] = await Promise.all([
      readFile(join(dataDir, "host"), "utf8"),
      readFile(join(dataDir, "user.pub"), "utf8"),
    ]);
    const server = await serveSsh(hostKey, publicKey);
    cleanups.push(() => server.close());
    const known = join(dataDir, "known_hosts");
    await writeFile(known, "");
    const access = { sshKey: join(dataDir, "user"), knownHosts: known };
    const url = server.url + origin.path;
    // Not even where the user's own command would trust anybody.
    const env = { ...process.env, GIT_SSH_COMMAND: "ssh -F /dev/null -o StrictHostKeyChecking=no" };
    expect((await failure(open({ url, env, access: { ...access, knownHosts: join(dataDir, "none") } }))).reason).toBe(
      "CredentialsNotFound",
    );
    const refused = await failure(open({ url, env, access }));
    expect(refused.reason).toBe("HostKeyRejected");
    expect(refused.message).toContain("known_hosts");
    const line = async (name: string) => {
      const [type, key] = (await readFile(join(dataDir, `${name}.pub`), "utf8")).split(" ");
      return `[127.0.0.1]:${server.port} ${type} ${key}\n`;
    };
    await writeFile(known, await line("user"));
    const changed = await failure(open({ url, env, access }));
    expect(changed.reason).toBe("HostKeyRejected");
    expect(changed.message).toMatch(
      /the host shows the key SHA256:\S+, which is not the known one.*compare the host's key/,
    );
    expect(changed.message).not.toContain("ssh-keygen");
    await writeFile(known, await line("host"));
    expect((await open({ url, env, access }).fetch(signal)).sha).toBe(sha);
    const stranger = join(dataDir, "host");
    const denied = await failure(open({ url, env, access: { ...access, sshKey: stranger } }));
    expect(denied.reason).toBe("AuthenticationFailed");
  });
});

function hasSsh(): boolean {
  try {
    execFileSync("ssh", ["-V"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

type Damage = (folder: string) => Promise<void>;

async function isMended(damage: Damage): Promise<void> {
  const first = await origin.commit({ "a.yaml": "one" });
  await open().fetch(signal);
  await damage(await cloneFolder());
  expect(await open().fetch(signal)).toMatchObject({ sha: first });
  await damage(await cloneFolder());
  const second = await origin.commit({ "a.yaml": "two" });
  const revision = await open().fetch(signal);
  expect(revision.sha).toBe(second);
  expect(textOf(revision, "a.yaml")).toBe("two");
}

describe("the clone heals by itself", () => {
  test("a push is followed, also through a restart", async () => {
    await origin.commit({ "a.yaml": "one" });
    const repository = open();
    await repository.fetch(signal);
    const sha = await origin.commit({ "a.yaml": "two" });
    expect(await repository.fetch(signal)).toMatchObject({ sha });
    expect(textOf(await open().fetch(signal), "a.yaml")).toBe("two");
  });

  test("a force-push to unrelated history is followed", async () => {
    await origin.commit({ "a.yaml": "one" });
    const repository = open();
    await repository.fetch(signal);
    const sha = await origin.replaceHistory({ "b.yaml": "other" });
    const revision = await repository.fetch(signal);
    expect(revision.sha).toBe(sha);
    expect(paths(revision)).toEqual(["b.yaml"]);
  });

  test.each<[string, Damage]>([
    ["deleted", (folder) => rm(folder, { recursive: true })],
    ["without its objects", (folder) => rm(join(folder, "objects"), { recursive: true })],
    ["with stale locks", (folder) => eachLock(folder, (lock) => writeFile(lock, ""))],
  ])("a clone %s is mended, with and without a new commit", (_title, damage) => isMended(damage));

  test.each<[string, Damage]>([
    ["emptied but for its folder", (folder) => rm(join(folder, "HEAD"))],
    ["without its config", (folder) => rm(join(folder, "config"), { force: true })],
    ["without its references", (folder) => rm(join(folder, "refs"), { recursive: true })],
    ["with packs cut short", (folder) => eachPack(folder, (pack) => truncate(pack, 20))],
    ["with packs of noise", (folder) => eachPack(folder, async (pack) => writeFile(pack, Buffer.alloc(200, 7)))],
    ["with a reference to nothing", (folder) => writeFile(join(folder, "refs/sluice/head"), "0".repeat(39) + "1\n")],
    ["with a shallow file of noise", (folder) => writeFile(join(folder, "shallow"), "noise\n")],
  ])("a clone %s is mended, with and without a new commit", { tags: ["rest"] }, (_title, damage) => isMended(damage));

  test("a damaged clone inside another repository is not taken for a part of that", { tags: ["rest"] }, async () => {
    await origin.commit({ "a.yaml": "one" });
    const inside = join(origin.path, "data");
    await open({ dataDir: inside }).fetch(signal);
    const [name = ""] = (await readdir(join(inside, "git"))).filter((one) => /^[0-9a-f]+$/.test(one));
    await rm(join(inside, "git", name, "HEAD"));
    expect(await open({ dataDir: inside }).cached(signal)).toBeUndefined();
    expect(paths(await open({ dataDir: inside }).fetch(signal))).toEqual(["a.yaml"]);
    expect(await origin.git("for-each-ref", "refs/sluice")).toBe("");
  });

  test(
    "a clone of many revisions is made small before it grows without end, and keeps the last good one",
    { tags: ["rest"] },
    async () => {
      const first = await origin.commit({ "a.yaml": "revision: 1" });
      await open().fetch(signal);
      const folder = join(await cloneFolder(), "objects", "pack");
      const [pack = ""] = (await readdir(folder)).filter((name) => name.endsWith(".pack"));
      const copies = Array.from({ length: 51 }, (_, index) => `pack-${String(index).padStart(40, "0")}`);
      for (const copy of copies) {
        for (const kind of ["pack", "idx"]) {
          await copyFile(join(folder, pack.replace(/pack$/, kind)), join(folder, `${copy}.${kind}`));
        }
      }
      await origin.commit({ "a.yaml": "revision: 2" });
      expect((await open().cached(signal))?.sha).toBe(first);
      await open().fetch(signal);
      expect((await readdir(folder)).filter((name) => name.endsWith(".pack")).length).toBe(2);
    },
  );

  test("what failed fetches leave behind is removed before the next one", { tags: ["rest"] }, async () => {
    await origin.commit({ "a.yaml": "revision: 1" });
    await open().fetch(signal);
    const objects = join(await cloneFolder(), "objects");
    for (const name of ["tmp_pack_a1B2c3", "tmp_idx_a1B2c3"]) await writeFile(join(objects, "pack", name), "PACK");
    await mkdir(join(objects, "tmp_objdir-incoming-a1B2c3"));
    await origin.commit({ "a.yaml": "revision: 2" });
    await open().fetch(signal);
    const left = [...(await readdir(objects)), ...(await readdir(join(objects, "pack")))];
    expect(left.filter((name) => name.startsWith("tmp_"))).toEqual([]);
  });

  test("a remote that fails and comes back is read again", async () => {
    await origin.commit({ "a.yaml": "one" });
    const server = await serveHttp(origin.path);
    const repository = open({ url: server.url });
    const before = await repository.fetch(signal);
    await origin.git("branch", "--move", "main", "away");
    await failure(repository);
    await origin.git("branch", "--move", "away", "main");
    expect(await repository.fetch(signal)).toBe(before);
    await server.close();
  });
});

async function eachPack(folder: string, change: (pack: string) => Promise<void>): Promise<void> {
  const objects = join(folder, "objects", "pack");
  for (const name of await readdir(objects)) {
    await rm(join(objects, `${name}.keep`), { force: true });
    if (!name.endsWith(".pack")) continue;
    execFileSync("chmod", ["u+w", join(objects, name)]);
    await change(join(objects, name));
  }
}

async function eachLock(folder: string, change: (lock: string) => Promise<void>): Promise<void> {
  const locks = ["index.lock", "shallow.lock", "config.lock", "HEAD.lock", "packed-refs.lock", "refs/sluice/head.lock"];
  for (const lock of locks) await change(join(folder, lock));
}

test("a commit with a date that there is none for is followed, also after a restart without the remote", async () => {
  await origin.commit({ "orders.yaml": "a" });
  const text = (await origin.git("cat-file", "commit", "HEAD")).replace(
    /^(committer .*> )\d+ .*$/m,
    "$1999999999999999 +9999",
  );
  const odd = execFileSync("git", ["hash-object", "-t", "commit", "-w", "--stdin", "--literally"], {
    cwd: origin.path,
    input: `${text}\n`,
    encoding: "utf8",
  }).trim();
  await origin.git("update-ref", "refs/heads/main", odd);
  const revision = await open().fetch(signal);
  expect(revision).toMatchObject({ sha: odd, author: "Ada" });
  expect(revision.committedAt).toBeUndefined();
  expect(await open().cached(signal)).toMatchObject({ sha: odd });
});
