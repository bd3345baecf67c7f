import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { cachedFolder } from "./cached-folder.ts";

const run = promisify(execFile);

type Program = { path: string } | { obstacle: string };

const found = new Map<string, Promise<Program>>();

/** Prometheus' promtool: the one on the PATH, or that of Debian's package, which is fetched once; or why there is none. */
export function promtool(): Promise<Program> {
  return programOf("promtool");
}

/** Prometheus itself, likewise. */
export function prometheus(): Promise<Program> {
  return programOf("prometheus");
}

function programOf(name: string): Promise<Program> {
  const known = found.get(name) ?? find(name);
  found.set(name, known);
  return known;
}

async function find(name: string): Promise<Program> {
  const isOnPath = await run(name, ["--version"]).then(
    () => true,
    () => false,
  );
  if (isOnPath) return { path: name };
  try {
    return { path: join(await cachedFolder("prometheus", "package", unpack), "usr", "bin", name) };
  } catch (error) {
    return { obstacle: `needs ${name}, from the package prometheus: ${(error as Error).message}` };
  }
}

async function unpack(folder: string): Promise<void> {
  await run("apt-get", ["download", "prometheus"], { cwd: folder });
  const archive = (await readdir(folder)).find((name) => name.endsWith(".deb"));
  if (archive === undefined) throw new Error("apt-get download left no package");
  await run("dpkg-deb", ["--extract", archive, "."], { cwd: folder });
}
