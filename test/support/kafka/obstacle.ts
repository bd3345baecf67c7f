import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { certificates } from "./certificates.ts";
import { classPath } from "./distribution.ts";

const run = promisify(execFile);
/** The first Java that Kafka 4 runs on. */
const oldestJava = 17;

let found: Promise<string | undefined> | undefined;

/** Why this machine cannot start a Kafka broker; undefined if it can. Fetches what is not there yet. */
export function brokerObstacle(): Promise<string | undefined> {
  found ??= find();
  return found;
}

async function find(): Promise<string | undefined> {
  try {
    await java();
    await Promise.all([classPath(), certificates()]);
    return undefined;
  } catch (error) {
    return `needs an Apache Kafka broker: ${(error as Error).message}`;
  }
}

async function java(): Promise<void> {
  const missing = (cause: unknown): never => {
    throw new Error(`\`java\` does not run; install Java ${oldestJava} or newer`, { cause });
  };
  const { stderr } = await run("java", ["-version"]).catch(missing);
  const version = Number(/version "(\d+)/.exec(stderr)?.[1]);
  if (!(version >= oldestJava)) {
    const [said = ""] = stderr.split("\n", 1);
    throw new Error(`Kafka 4 runs on Java ${oldestJava} or newer, and \`java -version\` says ${said}`);
  }
}
