import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { classPath } from "./distribution.ts";
import { type Program, runTool } from "../java.ts";
import { type BrokerSettings, serverProperties } from "./properties.ts";

/** A broker that can be started. */
export interface Installation {
  /** Holds its properties and all that it keeps. */
  folder: string;
  program: Program;
}

/**
 * Lays a node out in a temporary folder, and makes the user known to SCRAM.
 *
 * @param clusterId that of the cluster which it belongs to; one of its own by default.
 */
export async function install(
  settings: Omit<BrokerSettings, "logDir">,
  flags: readonly string[],
  clusterId = newClusterId(),
): Promise<Installation> {
  const path = await classPath();
  const folder = await mkdtemp(join(tmpdir(), "sluice-kafka-"));
  try {
    await mkdir(logDirIn(folder));
    const file = await configure(folder, settings);
    const args = formatArguments(file, clusterId, settings);
    await runTool({ classPath: path, main: "kafka.tools.StorageTool", args, heapMegabytes: 128, flags });
    return { folder, program: { classPath: path, main: "kafka.Kafka", args: [file], heapMegabytes: 256, flags } };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Writes the properties of a node; those of one that runs count from its next start. Resolves with their path. */
export async function configure(folder: string, settings: Omit<BrokerSettings, "logDir">): Promise<string> {
  const file = join(folder, "server.properties");
  await writeFile(file, serverProperties({ ...settings, logDir: logDirIn(folder) }), { mode: 0o600 });
  return file;
}

export function newClusterId(): string {
  const id = randomBytes(16);
  // An id whose text began with a dash would be taken for an option.
  id[0]! &= 0x7f;
  return id.toString("base64url");
}

function logDirIn(folder: string): string {
  return join(folder, "log");
}

function formatArguments(
  file: string,
  clusterId: string,
  { node, user: { username, password } }: Omit<BrokerSettings, "logDir">,
): string[] {
  // The users of SCRAM are kept in the log of the controllers.
  const mechanisms = node.roles.includes("controller") ? ["SCRAM-SHA-256", "SCRAM-SHA-512"] : [];
  const scram = mechanisms.flatMap((mechanism) => [
    "--add-scram",
    `${mechanism}=[name=${username},password=${password}]`,
  ]);
  return ["format", "-t", clusterId, "-c", file, ...scram];
}
