import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { cachedFolder } from "../cached-folder.ts";

const run = promisify(execFile);
const pom = fileURLToPath(new URL("pom.xml", import.meta.url));
/** The first Maven of a machine fetches plugins as well: half a minute on a good line. */
const fetchMs = 240_000;

/** The class path of Apache Kafka, whose jars are fetched at the first call on a machine: 45 MB. */
export async function classPath(): Promise<string> {
  return join(await cachedFolder("kafka", `jars-${await version()}`, fetchJars), "*");
}

/**
 * Java's flags that load Kafka's classes from an archive, which takes a third off the start and a fifth off the memory.
 *
 * @param train called once on a machine: runs a broker to a good end with the flags that it is given.
 */
export async function archivedClasses(train: (flags: string[]) => Promise<void>): Promise<string[]> {
  const make = (into: string): Promise<void> => train([`-XX:ArchiveClassesAtExit=${join(into, "classes.jsa")}`]);
  const folder = await cachedFolder("kafka", `classes-${await version()}`, make);
  // An archive that is not there, or of another Java, is passed over.
  return ["-Xshare:auto", `-XX:SharedArchiveFile=${join(folder, "classes.jsa")}`];
}

async function version(): Promise<string> {
  const content = await readFile(pom);
  return createHash("sha256").update(content).digest("hex").slice(0, 12);
}

async function fetchJars(folder: string): Promise<void> {
  const goal = ["-q", "-B", "-f", pom, "dependency:copy-dependencies", `-DoutputDirectory=${folder}`];
  try {
    await run("mvn", goal, { timeout: fetchMs });
  } catch (error) {
    const { code, stdout = "", message } = error as Error & { code?: unknown; stdout?: string };
    if (code === "ENOENT") throw new Error("Apache Kafka's jars are fetched by Maven: install `mvn`", { cause: error });
    throw new Error(`Maven could not fetch Apache Kafka's jars: ${stdout.slice(0, 1_000) || message}`, {
      cause: error,
    });
  }
}
