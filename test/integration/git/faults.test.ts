import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmod, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Repository } from "../../../reconciler/git/repository.ts";
import type { SourceError } from "../../../reconciler/git/revision.ts";
import { serveFaults } from "../../support/git-fault-proxy.ts";
import type { Fault, FaultProxy } from "../../support/git-fault-proxy.ts";
import { serveHttp } from "../../support/git-server.ts";
import { requireOrSkip } from "../../support/require-or-skip.ts";
import { gitInside } from "../../support/git-inside.ts";
import { SmallDisk } from "../../support/small-disk.ts";
import { failure, pathsOf, Scene, signal } from "./scene.ts";

let scene: Scene;
let proxy: FaultProxy;
let source: Repository;
/** The same, for servers that never answer. */
let impatient: Repository;
let before: string;

/** A source that has read a first revision; a second one waits. */
beforeAll(async () => {
  scene = await Scene.make();
  before = await scene.origin.commit({ "a.yaml": "one" });
  proxy = scene.add(await serveFaults(scene.add(await serveHttp(scene.origin.path))));
  source = scene.open({ url: proxy.url });
  impatient = scene.open({ url: proxy.url, timeouts: { silence: 1_300, total: 20_000 } });
  await source.fetch(signal);
  await scene.origin.commit({ "b.yaml": "two" });
});

afterAll(() => scene.end());

beforeEach(() => {
  proxy.fault = { kind: "none" };
});

/** The error under a fault, under which the last good revision stays. */
async function under(fault: Fault, by = source): Promise<SourceError> {
  proxy.fault = fault;
  const error = await failure(by);
  expect((await source.cached(signal))?.sha).toBe(before);
  return error;
}

const status = (code: number, headers?: Record<string, string>): Fault => ({
  kind: "status",
  status: code,
  ...(headers && { headers }),
});

describe("a server that fails has a reason of its own for each way", () => {
  test.each<[string, Fault, string, (number | undefined)?, string?]>([
    ["401", status(401, { "WWW-Authenticate": 'Basic realm="git"' }), "AuthenticationFailed"],
    ["403", status(403), "AuthenticationFailed"],
    [
      "403 that counts requests",
      status(403, { "X-RateLimit-Remaining": "0", "Retry-After": "90" }),
      "RateLimited",
      90_000,
    ],
    ["404", status(404), "RepositoryNotFound"],
    ["429", status(429), "RateLimited"],
    ["429 with a time", status(429, { "Retry-After": "7" }), "RateLimited", 7_000],
    ["429 with a time without end", status(429, { "Retry-After": "999999999" }), "RateLimited", 86_400_000],
    ["500", status(500), "ServerError"],
    ["503 with a time", status(503, { "Retry-After": "30" }), "ServerError", 30_000],
    ["a proxy that wants a login", status(407), "AuthenticationFailed", undefined, "http.proxy"],
    [
      "a redirect to a page for logins",
      status(302, { Location: "/login?next=a" }),
      "Redirected",
      undefined,
      "perhaps a page for logins",
    ],
    [
      "a page of one line",
      { kind: "status", status: 200, headers: { "Content-Type": "text/html" } },
      "RepositoryNotFound",
      undefined,
      "expected the answer of a Git server, found 200 of the type text/html: check --repo",
    ],
    ["an empty answer", status(204), "RepositoryNotFound", undefined, "found 204 without a media type"],
    [
      "a redirect elsewhere",
      status(302, { Location: "http://localhost:1/x/info/refs?service=git-upload-pack" }),
      "Redirected",
    ],
    ["a hang-up", { kind: "hang up" }, "ConnectionFailed"],
    ["a pack that ends too early", { kind: "pack cut short" }, "TransferIncomplete"],
    ["a pack with a wrong byte", { kind: "pack with a wrong byte" }, "TransferCorrupt"],
    ["a pack with a wrong checksum", { kind: "pack with a wrong checksum" }, "TransferCorrupt"],
  ])("%s", async (_title, fault, reason, retryAfter, text = "") => {
    const error = await under(fault);
    expect({ reason: error.reason, retryAfter: error.retryAfter, message: error.message }).toMatchObject({
      reason,
      retryAfter,
    });
    expect(error.message).toContain(text);
  });

  test.each<Fault["kind"]>(["hang before headers", "hang after headers", "one byte a second"])(
    "%s, which is given up, and git with it",
    async (kind) => {
      expect((await under({ kind } as Fault, impatient)).reason).toBe("Timeout");
      await expect.poll(() => proxy.open(), { timeout: 60_000 }).toBe(0);
    },
  );

  test("a server that ends the connection of a proxy without an answer", async () => {
    const inFront = scene.add(await serveFaults(proxy));
    proxy.fault = { kind: "hang up" };
    expect((await failure(scene.open({ url: inFront.url }))).reason).toBe("ConnectionFailed");
  });

  test("a name that leads nowhere", async () => {
    expect((await failure(scene.open({ url: "https://nowhere.invalid/a.git" }))).reason).toBe("HostNotFound");
  });

  test("and is read again when it does well", async () => {
    const revision = await source.fetch(signal);
    expect(pathsOf(revision)).toEqual(["a.yaml", "b.yaml"]);
    expect(revision.notes).toBeUndefined();
  });
});

const moved = (location: string, path?: string): Fault => ({
  kind: "status",
  status: 301,
  headers: { Location: `${location}/info/refs?service=git-upload-pack` },
  ...(path !== undefined && { path }),
});

describe("a redirect", () => {
  test("to another host is refused, and the credentials do not go there", async () => {
    const thief = scene.add(await serveFaults(scene.add(await serveHttp(scene.origin.path))));
    proxy.fault = moved(thief.url);
    const access = { token: "s3cret-token" };
    const error = await failure(scene.open({ url: proxy.url, access }));
    expect(error).toMatchObject({ reason: "Redirected", stalls: true });
    expect(error.message).toContain(`it points to ${thief.url}`);
    expect(thief.requests).toEqual([]);
  });

  test("to a page for logins is told without what it asks for, which may be a token", async () => {
    proxy.fault = {
      kind: "status",
      status: 302,
      headers: { Location: "https://login.example.com/sign_in?state=s3cret#t" },
    };
    const { message } = await failure(scene.open({ url: proxy.url }));
    expect(message).toContain("it points to https://login.example.com/sign_in, which is no repository");
    expect(message).not.toContain("s3cret");
  });

  describe("on the same host", () => {
    let server: FaultProxy;
    let path: string;

    beforeAll(async () => {
      server = scene.add(await serveFaults({ ...proxy, url: proxy.url.replace("/.git", "") }));
      path = new URL(server.url).pathname;
    });

    test("is followed, shown, and asked for again at each poll", async () => {
      const redirected = scene.open({ url: server.url });
      server.fault = moved(`${server.url}/.git`, path);
      const first = await redirected.fetch(signal);
      expect(pathsOf(first)).toEqual(["a.yaml", "b.yaml"]);
      expect(first.redirected).toBe(`${server.url}/.git`);
      expect(redirected.description).toMatchObject({ url: server.url, redirected: `${server.url}/.git` });

      server.requests.length = 0;
      expect(await redirected.fetch(signal)).toBe(first);
      expect(server.requests[0]?.line).toContain(`GET ${path}/info/refs`);
      const restarted = scene.open({ url: server.url });
      server.fault = status(503);
      expect((await failure(restarted)).message).toContain(server.url);
      expect((await restarted.cached(signal))?.redirected).toBe(`${server.url}/.git`);
    });

    test("is over with it: the commits of the configured address come again", async () => {
      const back = scene.open({ url: server.url, dataDir: join(scene.dataDir, "back") });
      server.fault = moved(`${server.url}/.git`, path);
      const elsewhere = await back.fetch(signal);
      server.fault = { kind: "rewrite", from: path, to: `${path}/.git` };
      const configured = await back.fetch(signal);
      expect(configured).toMatchObject({ sha: elsewhere.sha });
      expect(configured.redirected).toBeUndefined();
      expect(back.description.redirected).toBeUndefined();
    });

    test("may lead on, but not in a circle", async () => {
      server.fault = { kind: "circle" };
      expect((await failure(scene.open({ url: server.url }))).reason).toBe("Redirected");
    });
  });
});

describe("credentials by reference", () => {
  test("are read anew at each look, and shown nowhere", async () => {
    const password = join(scene.dataDir, "password");
    const credentials = { user: "ada", password: "first-s3cret" };
    const server = scene.add(await serveHttp(scene.origin.path, credentials));
    const access = { username: "ada", password: `\${file:${password}}` };
    const one = scene.open({ url: server.url, access });
    expect((await failure(one)).reason).toBe("CredentialsNotFound");
    await writeFile(password, "first-s3cret\n");
    await one.fetch(signal);
    credentials.password = "other-s3cret";
    const error = await failure(one);
    expect(error.reason).toBe("AuthenticationFailed");
    expect(`${error.message} ${error.stack} ${JSON.stringify(error)}`).not.toMatch(/s3cret/);
    await writeFile(password, "other-s3cret\n");
    await one.fetch(signal);
    await rm(password);
    expect(() => execFileSync("grep", ["-r", "s3cret", scene.dataDir])).toThrow("Command failed");
  });

  test("may be a bearer token", async () => {
    const server = scene.add(await serveHttp(scene.origin.path, { token: "t0ken" }));
    const access = { token: "${env:TOKEN_OF_THE_TEST}" };
    process.env["TOKEN_OF_THE_TEST"] = "t0ken";
    expect(pathsOf(await scene.open({ url: server.url, access }).fetch(signal))).toEqual(["a.yaml", "b.yaml"]);
  });
});

test("a certificate of an unknown authority is refused, of the one in --git-ca-file not", async () => {
  const [key, cert] = [join(scene.dataDir, "key.pem"), join(scene.dataDir, "cert.pem")];
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"];
  execFileSync(
    "openssl",
    [
      "req",
      "-x509",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:prime256v1",
      "-nodes",
      "-keyout",
      key,
      "-out",
      cert,
      "-days",
      "2",
      ...subject,
    ],
    { stdio: "ignore" },
  );
  const server = createServer({ key: await readFile(key), cert: await readFile(cert) }, (_request, response) => {
    response.writeHead(404).end();
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  scene.add({ close: () => new Promise((done) => server.close(done)) });
  const url = `https://127.0.0.1:${(server.address() as { port: number }).port}/a.git`;
  const error = await failure(scene.open({ url }));
  expect(error.reason).toBe("TLSFailed");
  expect(error.message).toContain("--git-ca-file");
  expect((await failure(scene.open({ url, access: { caFile: cert } }))).reason).toBe("RepositoryNotFound");
});

describe("the folder of the clone", () => {
  test("that is a file is said", async () => {
    const dataDir = join(scene.dataDir, "other");
    await mkdir(dataDir);
    await writeFile(join(dataDir, "git"), "");
    const error = await failure(scene.open({ dataDir }));
    expect(error.reason).toBe("CacheNotWritable");
    expect(error.message).toContain("must be a folder of this user, with room");
  });

  test("that is full is said; the last good revision stays, and the next one comes when there is room", async ({
    skip,
  }) => {
    requireOrSkip(SmallDisk.obstacle(), skip);
    const folder = join(scene.dataDir, "small");
    await mkdir(folder);
    const disk = await SmallDisk.make(folder, 4);
    try {
      const env = { ...process.env, PATH: await gitInside(disk, folder, join(scene.dataDir, "programs")) };
      const small = scene.open({ dataDir: disk.path, branch: "large", env });
      await scene.origin.git("checkout", "--quiet", "-b", "large");
      const first = await small.fetch(signal);
      await scene.origin.commit({ "large.yaml": randomBytes(200_000).toString("hex") });
      disk.fill(100_000);
      expect((await failure(small)).reason).toBe("DiskFull");
      expect(await small.cached(signal)).toBe(first);
      disk.empty();
      expect(pathsOf(await small.fetch(signal))).toContain("large.yaml");
    } finally {
      await scene.origin.git("checkout", "--quiet", "main");
      await disk.remove();
    }
  });

  test("that cannot be written is said, and nothing is thrown away", async ({ skip }) => {
    if (process.getuid?.() === 0) skip("root may write anywhere");
    const dataDir = join(scene.dataDir, "read-only");
    await mkdir(dataDir);
    await chmod(dataDir, 0o500);
    expect((await failure(scene.open({ dataDir }))).reason).toBe("CacheNotWritable");
  });
});

test("paths that differ in case alone, and what stands for a file of Git LFS, are told apart", async () => {
  const lfs = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n";
  await scene.origin.commit({ "A.yaml": "other", "big.yaml": lfs, ".gitattributes": "*.yaml filter=lfs diff=lfs" });
  const revision = await scene.open().fetch(signal);
  expect(pathsOf(revision)).toEqual(["A.yaml", "a.yaml", "b.yaml"]);
  const version = await scene.origin.git("rev-parse", "HEAD:big.yaml");
  const reason = expect.stringContaining("a pointer of Git LFS") as string;
  expect(revision.skipped).toEqual([{ path: "big.yaml", reason, version }]);
});
