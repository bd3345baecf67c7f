import { execFile } from "node:child_process";
import { chmod, lstat, mkdir, mkdtemp, readlink, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { controlPath, longestSocketPath, socketPath } from "../../../reconciler/cli/control/address.ts";
import { ControlClient } from "../../../reconciler/cli/control/client.ts";
import { listenControl } from "../../../reconciler/cli/control/server.ts";
import type { ControlServer } from "../../../reconciler/cli/control/server.ts";

let root: string;
const open: ControlServer[] = [];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "sluice-control-"));
});

afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
  await rm(root, { recursive: true, force: true });
});

async function listen(dataDir: string): Promise<ControlServer> {
  const server = await listenControl(dataDir, (req, res) =>
    res.end(JSON.stringify({ asked: `${req.method} ${req.url}` })),
  );
  open.push(server);
  return server;
}

/** A data dir whose control socket has a path of exactly `bytes` bytes. */
async function dataDirWithPathOf(bytes: number): Promise<string> {
  const spare = bytes - Buffer.byteLength(controlPath(root)) - 1;
  const dataDir = join(
    root,
    ..."x"
      .repeat(spare)
      .replace(/(x{50})x(?=x)/g, "$1/")
      .split("/"),
  );
  await mkdir(dataDir, { recursive: true });
  expect(Buffer.byteLength(controlPath(dataDir))).toBe(bytes);
  return dataDir;
}

describe("the socket is found, however long its path", () => {
  test.each([
    ["the longest that fits is used as it is", longestSocketPath, false],
    ["one byte more leads through a link", longestSocketPath + 1, true],
    ["just below the limit of Linux leads through a link", 107, true],
    ["just above the limit of Linux leads through a link", 108, true],
    ["a very long one leads through a link", 400, true],
  ])("%s (%i bytes)", async (_, bytes, isLink) => {
    const dataDir = await dataDirWithPathOf(bytes);
    const server = await listen(dataDir);
    expect((await lstat(controlPath(dataDir))).isSymbolicLink()).toBe(isLink);
    expect(await socketPath(dataDir)).toBe(server.path);
    expect(Buffer.byteLength(server.path)).toBeLessThanOrEqual(longestSocketPath);
    expect(await new ControlClient(dataDir).get("/x")).toEqual({ asked: "GET /x" });
  });

  test("bytes are counted, not characters", async () => {
    const dataDir = join(root, "ü".repeat(40));
    await listen(dataDir);
    expect(await readlink(controlPath(dataDir))).not.toBe("");
    expect(await new ControlClient(dataDir).get("/x")).toEqual({ asked: "GET /x" });
  });
});

describe("only the owner may connect", () => {
  test.each([
    ["a socket in the data dir", 0],
    ["a socket in a folder of its own", 200],
  ])("%s has mode 0600", async (_, bytes) => {
    const server = await listen(bytes === 0 ? root : await dataDirWithPathOf(bytes));
    expect((await stat(server.path)).mode & 0o777).toBe(0o600);
  });

  test("a folder of its own has mode 0700", async () => {
    const server = await listen(await dataDirWithPathOf(200));
    expect((await stat(dirname(server.path))).mode & 0o777).toBe(0o700);
  });

  test("the mask of the process is what it was", async () => {
    const before = process.umask();
    await listen(root);
    expect(process.umask()).toBe(before);
  });
});

describe("what a killed daemon left is replaced", () => {
  const holder = `require("net").createServer().listen(process.argv[1], () => process.kill(process.pid, "SIGKILL"))`;

  test("a socket that nobody listens on", async () => {
    await promisify(execFile)(process.execPath, ["-e", holder, controlPath(root)]).catch(() => undefined);
    expect((await lstat(controlPath(root))).isSocket()).toBe(true);
    await listen(root);
    expect(await new ControlClient(root).get("/x")).toEqual({ asked: "GET /x" });
  });

  test("a link to a socket that is gone", async () => {
    const dataDir = await dataDirWithPathOf(200);
    const first = await listen(dataDir);
    await rm(dirname(first.path), { recursive: true });
    await listen(dataDir);
    expect(await new ControlClient(dataDir).get("/x")).toEqual({ asked: "GET /x" });
  });
});

test.each([
  ["a socket", 0],
  ["a link and its folder", 200],
])("closing leaves nothing: %s", async (_, bytes) => {
  const dataDir = bytes === 0 ? root : await dataDirWithPathOf(bytes);
  const server = await listen(dataDir);
  await server.close();
  await server.close();
  for (const path of [controlPath(dataDir), server.path]) await expect(lstat(path)).rejects.toThrow("ENOENT");
  if (bytes > 0) await expect(lstat(dirname(server.path))).rejects.toThrow("ENOENT");
});

describe("a client without a daemon is told where it looked", () => {
  test("there is no socket", async () => {
    await expect(new ControlClient(root).get("/x")).rejects.toThrow(
      `no sluice is running on data dir "${root}" (looked for ${join(root, "control.sock")})`,
    );
  });

  test("there is no data dir", async () => {
    await expect(new ControlClient(join(root, "none")).get("/x")).rejects.toThrow("no sluice is running on data dir");
  });

  test("a socket was left by a killed daemon", async () => {
    const server = await listen(root);
    await server.close();
    await writeFile(controlPath(root), "");
    await expect(new ControlClient(root).get("/x")).rejects.toThrow("no sluice is running on data dir");
  });

  test("something else listens there", async () => {
    const stranger = createServer((socket) => socket.end("220 mail.example.com\r\n")).listen(controlPath(root));
    await once(stranger, "listening");
    await chmod(controlPath(root), 0o600);
    await expect(new ControlClient(root).get("/x")).rejects.toThrow("did not answer");
    stranger.close();
  });
});
