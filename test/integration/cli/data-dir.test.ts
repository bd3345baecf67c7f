import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { runCommand } from "../../support/command.ts";
import { requireOrSkip } from "../../support/require-or-skip.ts";
import { SmallDisk } from "../../support/small-disk.ts";

const script = fileURLToPath(new URL("../../../dist/sluice.js", import.meta.url));

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-data-dir-"));
  await mkdir(join(folder, "pipelines"));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

/** Arguments of a `sluice run` on a data dir. */
function argumentsFor(dataDir: string): string[] {
  const off = ["--api", "--events", "--otlp-grpc", "--otlp-http"].flatMap((name) => [name, "off"]);
  return ["run", "--dir", join(folder, "pipelines"), "--data-dir", dataDir, ...off];
}

/** What `sluice run` says on a data dir that it cannot use, and its exit code. */
async function run(dataDir: string): Promise<{ lines: string[]; code: number }> {
  const { code, err } = await runCommand(argumentsFor(dataDir), { signal: new AbortController().signal });
  return { lines: err.split("\n"), code };
}

/** The same of a process, which may be another user's or see another disk. */
async function runApart(
  dataDir: string,
  { wrap = (command: string[]) => command, uid }: { wrap?: (command: string[]) => string[]; uid?: number } = {},
): Promise<{ lines: string[]; code: number | null }> {
  const command = [process.execPath, script, ...argumentsFor(dataDir)];
  const [program = "", ...args] = wrap(command);
  const child = spawn(program, args, {
    cwd: folder,
    stdio: ["ignore", "ignore", "pipe"],
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  const [code] = (await once(child, "close")) as [number | null];
  return { lines: said.trim().split("\n"), code };
}

describe("a data dir that cannot be used is named in one line, with the way out", () => {
  test("a file", async () => {
    const path = join(folder, "data");
    await writeFile(path, "");
    const { lines, code } = await run(path);
    expect(lines).toEqual([expect.stringMatching(/data dir .*data .*is not a folder.*choose another --data-dir/)]);
    expect(code).toBe(1);
  });

  test("below a file", async () => {
    await writeFile(join(folder, "file"), "");
    const { lines, code } = await run(join(folder, "file", "data"));
    expect(lines).toEqual([expect.stringMatching(/data dir .*data .*is not a folder.*choose another --data-dir/)]);
    expect(code).toBe(1);
  });

  test("a folder that cannot be made", async ({ skip }) => {
    requireOrSkip(process.platform === "linux" ? undefined : "needs /proc, which only Linux has", skip);
    const { lines, code } = await run("/proc/none/data");
    expect(lines).toEqual([expect.stringMatching(/data dir \/proc\/none\/data cannot be made.*choose another/)]);
    expect(code).toBe(1);
  });

  test("a folder of another user", { tags: ["rest"] }, async ({ skip }) => {
    const isRoot = process.getuid?.() === 0;
    requireOrSkip(process.platform === "win32" ? "needs users of POSIX" : undefined, skip);
    const path = join(folder, "data");
    await mkdir(path, { mode: 0o500 });
    await chmod(folder, 0o755);
    const { lines, code } = await runApart(path, isRoot ? { uid: 65_534 } : {});
    await chmod(path, 0o700);
    expect(lines).toEqual([expect.stringMatching(/data dir .*data may not be read and written by this user.*owner/)]);
    expect(code).toBe(1);
  });

  test("a folder on a disk that is read-only", { tags: ["rest"] }, async ({ skip }) => {
    requireOrSkip(SmallDisk.obstacle(), skip);
    const path = join(folder, "data");
    await mkdir(path);
    const disk = await SmallDisk.make(path, 64);
    try {
      disk.freeze();
      for (const dataDir of [path, join(path, "below")]) {
        const { lines, code } = await runApart(dataDir, { wrap: (command) => disk.wrap(command) });
        expect(lines).toEqual([expect.stringMatching(/data dir .*data.* read-only.*for writing/)]);
        expect(code).toBe(1);
      }
    } finally {
      await disk.remove();
    }
  });

  test("a folder whose format is no text of Sluice", async () => {
    const path = join(folder, "data");
    await mkdir(path);
    await writeFile(join(path, "format"), "{ half");
    const { lines, code } = await run(path);
    expect(lines).toEqual([expect.stringMatching(/data\/format.*expected.*restore/)]);
    expect(code).toBe(1);
  });
});
