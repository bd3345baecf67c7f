import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { cachedFolder, versionOf } from "../cached-folder.ts";
import { requireJava } from "../java.ts";
import { zooKeeperClassPath } from "../zookeeper/zookeeper.ts";
import { letReplicasRun } from "./library.ts";

const { resolve } = createRequire(import.meta.url);
const bindings = "@chdb/lib-linux-x64-gnu";
/** The first Java that ZooKeeper 3.9 runs on, of those that are still mended. */
const oldestJava = 11;

let found: Promise<string | undefined> | undefined;

/** Why no Replicated table runs on this machine; undefined if they do. Fetches and makes what is not there yet. */
export function replicatedObstacle(): Promise<string | undefined> {
  found ??= find();
  return found;
}

async function find(): Promise<string | undefined> {
  if (`${process.platform}-${process.arch}` !== "linux-x64")
    return `Replicated tables run in the tests on linux-x64, and this is ${process.platform}-${process.arch}`;
  try {
    await requireJava(oldestJava, "ZooKeeper");
    await Promise.all([zooKeeperClassPath(), replicatingEngine()]);
    return undefined;
  } catch (error) {
    return `needs a ClickHouse with Replicated tables: ${(error as Error).message}`;
  }
}

/**
 * A folder of the cache whose programs load a chDB on which Replicated tables run: what they import is found from there.
 * Made at the first call on a machine: 560 MB.
 */
export async function replicatingEngine(): Promise<string> {
  const own = dirname(resolve(bindings));
  const recipe = fileURLToPath(new URL("library.ts", import.meta.url));
  const version = await versionOf(join(own, "package.json"), recipe);
  return cachedFolder("replicated", `engine-${version}`, (folder) => makeEngine(own, join(folder, "node_modules")));
}

async function makeEngine(own: string, packages: string): Promise<void> {
  const copy = join(packages, bindings);
  await mkdir(dirname(copy), { recursive: true });
  await cp(dirname(resolve("chdb/package.json")), join(packages, "chdb"), { recursive: true });
  const library = join(own, "libchdb.so");
  await cp(own, copy, { recursive: true, filter: (path) => path !== library });
  const bytes = await readFile(library);
  letReplicasRun(bytes);
  await writeFile(join(copy, "libchdb.so"), bytes);
}
