import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { freePorts, isOpen } from "./ports.ts";
import { isInstalled } from "./programs.ts";

/** Addresses (`HOST:PORT`) for webhook events, OTLP over HTTP and OTLP over gRPC. */
export interface Doors {
  events: string;
  otlp: string;
  grpc: string;
}

/** The proxies of `examples/proxies`, with the command that runs one in the foreground. */
const proxies = {
  nginx: {
    file: "examples/proxies/nginx.conf",
    args: (path: string, folder: string) => [
      "-p",
      folder,
      "-c",
      path,
      "-g",
      "daemon off; user root; pid nginx.pid; error_log stderr;",
    ],
  },
  haproxy: { file: "examples/proxies/haproxy.cfg", args: (path: string) => ["-db", "-f", path] },
} as const;

export type ProxyName = keyof typeof proxies;
export const proxyNames = Object.keys(proxies) as ProxyName[];

/** Why it cannot be run here, if it cannot. */
export function obstacleOf(name: ProxyName): string | undefined {
  return isInstalled(name) ? undefined : `needs ${name}`;
}

/**
 * Runs the configuration of the examples in front of `behind`, with free ports in the place of its own.
 *
 * @param folder an existing one, for what it writes.
 */
export async function startProxy(
  name: ProxyName,
  behind: Doors,
  folder: string,
): Promise<Doors & { end: () => Promise<void> }> {
  const { file, args } = proxies[name];
  const [events, otlp, grpc] = (await freePorts(3)) as [number, number, number];
  const ports: Record<string, string> = {
    9080: String(events),
    9318: String(otlp),
    9317: String(grpc),
    8080: portOf(behind.events),
    4318: portOf(behind.otlp),
    4317: portOf(behind.grpc),
  };
  const given = await readFile(file, "utf8");
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (of) => `${of}_temp_path ${folder}/${of};`,
  );
  const text = given
    .replaceAll(/\b(?:9080|9318|9317|8080|4318|4317)\b/g, (port) => ports[port]!)
    .replace("http {", `http {\n${temporary.join("\n")}`);
  const path = join(folder, name);
  await writeFile(path, text);
  const said: string[] = [];
  const child: ChildProcess = spawn(name, args(path, folder), { stdio: ["ignore", "pipe", "pipe"] });
  for (const stream of [child.stdout!, child.stderr!])
    stream.on("data", (chunk: Buffer) => said.push(chunk.toString()));
  while (!(await isOpen(grpc))) {
    if (child.exitCode !== null) throw new Error(`${name} ended: ${said.join("")}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const end = async (): Promise<void> => {
    child.kill("SIGTERM");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  };
  return { events: `127.0.0.1:${events}`, otlp: `127.0.0.1:${otlp}`, grpc: `127.0.0.1:${grpc}`, end };
}

function portOf(address: string): string {
  return address.split(":").at(-1)!;
}
