import { createHash, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { waitForLock } from "fs-native-extensions";

const caches = fileURLToPath(new URL("../../.cache", import.meta.url));
const partial = ".partial";

/**
 * A folder that is made once and kept for later runs, in the cache that Git ignores. One process makes it while others
 * wait. It gets its name only when it is whole, so what a killed process left is never taken for it.
 *
 * @param of what it belongs to, such as `kafka`.
 * @param make fills the folder that it is given.
 */
export async function cachedFolder(of: string, name: string, make: (folder: string) => Promise<void>): Promise<string> {
  const cache = join(caches, of);
  const path = join(cache, name);
  if (existsSync(path)) return path;
  await mkdir(cache, { recursive: true });
  const lock = await open(join(cache, `${name}.lock`), "a");
  try {
    await waitForLock(lock.fd);
    if (!existsSync(path)) await makeWhole(cache, name, make);
    return path;
  } finally {
    await lock.close();
  }
}

/** For the name of a folder that is made from these files: another one for each content of them. */
export async function versionOf(...files: string[]): Promise<string> {
  const hash = createHash("sha256");
  for (const file of files) hash.update(await readFile(file));
  return hash.digest("hex").slice(0, 12);
}

/** Only the holder of the lock is here. A program that outlived its maker may still write to what that one left. */
async function makeWhole(cache: string, name: string, make: (folder: string) => Promise<void>): Promise<void> {
  const left = (await readdir(cache)).filter((found) => found.startsWith(`${name}.`) && found.endsWith(partial));
  for (const folder of left) await rm(join(cache, folder), { recursive: true, force: true });
  const folder = join(cache, `${name}.${randomUUID()}${partial}`);
  await mkdir(folder);
  await make(folder);
  await rename(folder, join(cache, name));
}
