import { requireJava } from "../java.ts";
import { certificates } from "./certificates.ts";
import { classPath } from "./distribution.ts";

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
    await requireJava(oldestJava, "Kafka 4");
    await Promise.all([classPath(), certificates()]);
    return undefined;
  } catch (error) {
    return `needs an Apache Kafka broker: ${(error as Error).message}`;
  }
}
