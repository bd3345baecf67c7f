import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { cachedFolder, versionOf } from "./cached-folder.ts";

const run = promisify(execFile);
/** The first Maven of a machine fetches plugins as well: half a minute on a good line. */
const fetchMs = 240_000;

/**
 * The class path of the jars that a POM names, which are fetched at the first call on a machine.
 *
 * @param cache the folder of the cache that they are kept in.
 * @param what whose jars they are, for errors.
 */
export async function classPathOf(pom: string, cache: string, what: string): Promise<string> {
  const fetch = (folder: string): Promise<void> => fetchJars(pom, folder, what);
  return join(await cachedFolder(cache, `jars-${await versionOf(pom)}`, fetch), "*");
}

async function fetchJars(pom: string, folder: string, what: string): Promise<void> {
  const goal = ["-q", "-B", "-f", pom, "dependency:copy-dependencies", `-DoutputDirectory=${folder}`];
  try {
    await run("mvn", goal, { timeout: fetchMs });
  } catch (error) {
    const { code, stdout = "", message } = error as Error & { code?: unknown; stdout?: string };
    if (code === "ENOENT") throw new Error(`${what}'s jars are fetched by Maven: install \`mvn\``, { cause: error });
    throw new Error(`Maven could not fetch ${what}'s jars: ${stdout.slice(0, 1_000) || message}`, { cause: error });
  }
}
