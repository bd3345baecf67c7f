import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cachedFolder, versionOf } from "../cached-folder.ts";
import { classPathOf } from "../maven.ts";

const pom = fileURLToPath(new URL("pom.xml", import.meta.url));

/** The class path of Apache Kafka, whose jars are fetched at the first call on a machine: 45 MB. */
export function classPath(): Promise<string> {
  return classPathOf(pom, "kafka", "Apache Kafka");
}

/**
 * Java's flags that load Kafka's classes from an archive, which takes a third off the start and a fifth off the memory.
 *
 * @param train called once on a machine: runs a broker to a good end with the flags that it is given.
 */
export async function archivedClasses(train: (flags: string[]) => Promise<void>): Promise<string[]> {
  const make = (into: string): Promise<void> => train([`-XX:ArchiveClassesAtExit=${join(into, "classes.jsa")}`]);
  const folder = await cachedFolder("kafka", `classes-${await versionOf(pom)}`, make);
  // An archive that is not there, or of another Java, is passed over.
  return ["-Xshare:auto", `-XX:SharedArchiveFile=${join(folder, "classes.jsa")}`];
}
