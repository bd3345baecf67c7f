import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { cachedFolder } from "./cached-folder.ts";

const run = promisify(execFile);

let found: Promise<{ path: string } | { obstacle: string }> | undefined;

/** Prometheus' promtool: the one on the PATH, or that of Debian's package, which is fetched once; or why there is none. */
export function promtool(): Promise<{ path: string } | { obstacle: string }> {
  return (found ??= find());
}

async function find(): Promise<{ path: string } | { obstacle: string }> {
  const isOnPath = await run("promtool", ["--version"]).then(
    () => true,
    () => false,
  );
  if (isOnPath) return { path: "promtool" };
  try {
    return { path: join(await cachedFolder("prometheus", "package", unpack), "usr", "bin", "promtool") };
  } catch (error) {
    return { obstacle: `needs promtool, from the package prometheus: ${(error as Error).message}` };
  }
}

async function unpack(folder: string): Promise<void> {
  await run("apt-get", ["download", "prometheus"], { cwd: folder });
  const archive = (await readdir(folder)).find((name) => name.endsWith(".deb"));
  if (archive === undefined) throw new Error("apt-get download left no package");
  await run("dpkg-deb", ["--extract", archive, "."], { cwd: folder });
}
