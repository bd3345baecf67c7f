import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { User } from "./access.ts";
import { classPath } from "./distribution.ts";
import { type Program, runTool } from "../java.ts";
import { type BrokerSettings, serverProperties } from "./properties.ts";

/** A broker that can be started. */
export interface Installation {
  /** Holds its properties and all that it keeps. */
  folder: string;
  program: Program;
}

/** Lays a broker out in a temporary folder, with a cluster id of its own, and makes the user known to SCRAM. */
export async function install(
  settings: Omit<BrokerSettings, "logDir">,
  flags: readonly string[],
): Promise<Installation> {
  const path = await classPath();
  const folder = await mkdtemp(join(tmpdir(), "sluice-kafka-"));
  try {
    const [logDir, file] = [join(folder, "log"), join(folder, "server.properties")];
    await mkdir(logDir);
    await writeFile(file, serverProperties({ ...settings, logDir }), { mode: 0o600 });
    const args = formatArguments(file, settings.user);
    await runTool({ classPath: path, main: "kafka.tools.StorageTool", args, heapMegabytes: 128, flags });
    return { folder, program: { classPath: path, main: "kafka.Kafka", args: [file], heapMegabytes: 256, flags } };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

function formatArguments(file: string, { username, password }: User): string[] {
  const id = randomBytes(16);
  // An id whose text began with a dash would be taken for an option.
  id[0]! &= 0x7f;
  const scram = ["SCRAM-SHA-256", "SCRAM-SHA-512"].flatMap((mechanism) => [
    "--add-scram",
    `${mechanism}=[name=${username},password=${password}]`,
  ]);
  return ["format", "-t", id.toString("base64url"), "-c", file, ...scram];
}
