import { fork } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { cp, mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { type Socket, connect } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { entryPoint } from "../../../engine/system/entry-point.ts";
import { EmbeddedClickHouse, type EmbeddedOptions } from "../../../engine/embedded-clickhouse/embedded-clickhouse.ts";
import { silent } from "../../support/clickhouse.ts";

let dataDir: string;
const started: EmbeddedClickHouse[] = [];

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "sluice's {click,house} *?-"));
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((one) => one.close()));
  await rm(dataDir, { recursive: true, force: true });
});

async function start(options: Partial<EmbeddedOptions> = {}): Promise<EmbeddedClickHouse> {
  const one = await EmbeddedClickHouse.start({ dataDir, log: silent, tcp: true, ...options });
  started.push(one);
  return one;
}

const createTable =
  "CREATE TABLE t (id Int64) ENGINE = MergeTree ORDER BY id SETTINGS non_replicated_deduplication_window = 1000";
const count = async (on: EmbeddedClickHouse): Promise<string> =>
  (await on.query("SELECT count(), uniqExact(id) FROM t")).trim();
const portOf = (one: EmbeddedClickHouse): number => Number(new URL(one.url).port);

/** A connection; it is `gone` when the process at the other side is. */
async function connected(port: number): Promise<{ socket: Socket; gone: Promise<void> }> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  socket.on("error", () => undefined).resume();
  return { socket, gone: new Promise((resolve) => void socket.once("close", () => resolve())) };
}

describe("the data", () => {
  test("is there again after a close, whatever the data directory is called, under another password", async () => {
    const first = await start();
    await first.query(createTable);
    await first.query("INSERT INTO t VALUES (1), (2)");
    await first.close();
    const second = await start();
    expect(await count(second)).toBe("2\t2");
    expect(second.password, "of every start").not.toBe(first.password);
  });

  test("is waited for while a predecessor is ending", { tags: ["rest"] }, async () => {
    const first = await start();
    await first.query(createTable);
    const second = start();
    await first.close();
    expect(await count(await second)).toBe("0\t0");
  });

  test("is refused, in words, while another process holds it", { tags: ["rest"] }, async () => {
    await start();
    const failure = start({ lockWaitMs: 300 });
    await expect(failure).rejects.toMatchObject({ code: "DATA_DIR_HELD" });
    await expect(failure).rejects.toThrow("another process holds it");
  });

  test("is refused the same way while another program of ClickHouse has it open", { tags: ["rest"] }, async () => {
    const folder = join(dataDir, "clickhouse", "engine");
    const program = join(dataDir, "other.cjs");
    const chdb = JSON.stringify(createRequire(import.meta.url).resolve("chdb"));
    const opened = `new (require(${chdb}).Session)(${JSON.stringify(folder)})`;
    await writeFile(program, `const opened = ${opened}; process.on("message", () => opened); process.send("open");`);
    await mkdir(dirname(folder), { recursive: true });
    const other = fork(program, [], { execArgv: [] });
    await once(other, "message");
    await expect(start({ lockWaitMs: 300 })).rejects.toMatchObject({ code: "DATA_DIR_HELD" });
    other.kill("SIGKILL");
    await once(other, "exit");
    await start();
  });
});

describe("a killed child", () => {
  test("is up again by itself, on the same port, and nothing answered is lost or doubled", async () => {
    const events: string[] = [];
    const one = await start({ onEvent: ({ kind }) => events.push(kind) });
    const { url } = one;
    await one.query(createTable);
    let unanswered = 0;
    for (let id = 0; id < 60; id += 1) {
      const insert = `INSERT INTO t SETTINGS insert_deduplication_token = '${id}' FORMAT CSV\n${id}\n`;
      const sent = one.query(insert);
      if (id % 30 === 20) process.kill(one.pid, "SIGKILL");
      for (let answer = sent; !(await isAnswered(answer)); answer = one.query(insert)) unanswered += 1;
    }
    expect(await count(one)).toBe("60\t60");
    expect(unanswered).toBeGreaterThanOrEqual(2);
    expect(events).toEqual(["started", "died", "started", "died", "started"]);
    expect(one.url).toBe(url);
  });

  test("leaves no body behind", { tags: ["rest"] }, async () => {
    const events = new EventEmitter();
    const one = await start({ onEvent: ({ kind }) => events.emit(kind) });
    const died = once(events, "died");
    await one.query(createTable);
    const { socket } = await connected(portOf(one));
    const head = "POST /?query=INSERT+INTO+t+FORMAT+CSV HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n";
    const auth = `Authorization: Basic ${btoa(`${one.username}:${one.password}`)}`;
    await new Promise((resolve) => socket.write(`${head}${auth}\r\n\r\n${"1\n".repeat(1_000_000)}`, resolve));
    await one.query("SELECT 1");
    const { pid } = one;
    process.kill(pid, "SIGKILL");
    await died;
    expect(await count(one)).toBe("0\t0");
    expect(await readdir(join(dataDir, "clickhouse", "spool"))).toEqual([]);
    const shared = process.platform === "linux" ? await readdir("/dev/shm") : [];
    expect(shared.filter((name) => name.startsWith(`sluice-${pid}-`))).toEqual([]);
  });
});

async function isAnswered(answer: Promise<string>): Promise<boolean> {
  return answer.then(
    () => true,
    () => false,
  );
}

describe("the child ends", () => {
  test("when it is closed, also while a statement runs", { tags: ["rest"] }, async () => {
    const one = await start();
    const { gone } = await connected(portOf(one));
    const running = one.query("SELECT sleepEachRow(1) FROM numbers(100) SETTINGS max_block_size = 1");
    running.catch(() => undefined);
    await one.query("SELECT 1");
    await one.close();
    await gone;
    await expect(running).rejects.toMatchObject({ code: "QUERY_FAILED" });
    await expect(connected(portOf(one))).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });

  test(
    "when its parent is killed, also while a statement runs, and its data can be opened at once",
    { tags: ["rest"] },
    async () => {
      const program = fileURLToPath(new URL("../../support/clickhouse-parent.ts", import.meta.url));
      const parent = fork(program, [dataDir], {
        execArgv: ["--import", "tsx"],
        stdio: ["ignore", "inherit", "inherit", "ipc"],
      });
      const [{ port }] = (await once(parent, "message")) as [{ port: number }];
      const { gone } = await connected(port);
      parent.kill("SIGKILL");
      await gone;
      expect(await count(await start())).toBe("1\t1");
    },
  );
});

describe("chDB that cannot be loaded", () => {
  test("is told in words, with what to do", async () => {
    const elsewhere = join(dataDir, "elsewhere");
    await cp(dirname(entryPoint("clickhouse")), elsewhere, { recursive: true });
    // What the package does on a platform that it does not know.
    const broken = join(elsewhere, "node_modules", "chdb");
    await mkdir(broken, { recursive: true });
    await writeFile(join(broken, "index.js"), 'throw new Error("chdb: no native binding for this platform.");');
    const lock = dirname(createRequire(import.meta.url).resolve("fs-native-extensions/package.json"));
    await symlink(lock, join(elsewhere, "node_modules", "fs-native-extensions"));
    const failure = start({ entry: join(elsewhere, "clickhouse.js") });
    await expect(failure).rejects.toMatchObject({
      code: "CLICKHOUSE_MISSING",
      cause: { message: expect.stringContaining("no native binding for this platform") as string },
    });
    await expect(failure).rejects.toThrow(/npm install --include=optional.*ClickHouse server/);
  });
});

test("Ctrl-C, which reaches every process of a terminal, does not end the child, and no secret is in its arguments and variables", async () => {
  process.env["SLUICE_TEST_SECRET"] = "of-the-parent";
  const one = await start();
  delete process.env["SLUICE_TEST_SECRET"];
  const { pid } = one;
  if (process.platform === "linux") {
    const seen = await Promise.all(["cmdline", "environ"].map((name) => readFile(`/proc/${pid}/${name}`, "utf8")));
    expect(seen.join()).toContain("UV_THREADPOOL_SIZE");
    expect(seen.join()).not.toContain(one.password);
    expect(seen.join()).not.toContain("of-the-parent");
  }
  process.kill(pid, "SIGINT");
  await one.query(createTable);
  expect(await count(one)).toBe("0\t0");
  expect(one.pid, "before its parent decides").toBe(pid);
});
