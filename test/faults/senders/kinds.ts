import { execFile, execFileSync } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { cachedFolder, versionOf } from "../../support/cached-folder.ts";
import { isInstalled } from "../../support/programs.ts";
import { classPathOf } from "../../support/maven.ts";
import type { Doors } from "../../support/reverse-proxy.ts";

const run = promisify(execFile);

/** A program that sends, as `programs/README.md` says. */
export interface Kind {
  name: string;
  transport: "http" | "grpc";
  /** What it sends to. */
  door: keyof Doors;
  /** Programs that have to be there. */
  needs: readonly string[];
  /** Makes it ready, which is done once on a machine, and gives the words of its command. */
  prepare: () => Promise<string[]>;
}

const programs = fileURLToPath(new URL("programs", import.meta.url));
/** The first build on a machine fetches what the program needs. */
const buildMs = 600_000;

const sdks: Record<string, Pick<Kind, "needs" | "prepare">> = {
  Node: { needs: [], prepare: async () => [process.execPath, "--import", "tsx", join(programs, "node.ts")] },
  Python: { needs: ["python3"], prepare: python },
  Go: { needs: ["go"], prepare: go },
  Java: { needs: ["java", "javac", "mvn"], prepare: java },
};

export const kinds: readonly Kind[] = [
  ...Object.entries(sdks).flatMap(([language, how]): Kind[] => [
    { name: `${language} over HTTP`, transport: "http", door: "otlp", ...how },
    { name: `${language} over gRPC`, transport: "grpc", door: "grpc", ...how },
  ]),
  { name: "curl", transport: "http", door: "events", needs: ["curl"], prepare: script("curl.sh") },
  { name: "syslog-ng", transport: "http", door: "events", needs: ["syslog-ng"], prepare: script("syslog-ng.sh") },
];

/** What keeps a kind from being run here, if something does. */
export function obstacleOf({ needs }: Kind): string | undefined {
  const missing = needs.filter((program) => !isInstalled(program));
  if (missing.length > 0) return `needs ${missing.join(", ")}`;
  return needs.includes("syslog-ng") && !canPost() ? "needs its module for HTTP (syslog-ng-mod-http)" : undefined;
}

/** Whether syslog-ng has the module for that, which is a package of its own. */
function canPost(): boolean {
  return /^Module: http$/m.test(execFileSync("syslog-ng", ["--module-registry"], { encoding: "utf8" }));
}

function script(name: string): Kind["prepare"] {
  return async () => ["sh", join(programs, name)];
}

async function python(): Promise<string[]> {
  const requirements = join(programs, "requirements.txt");
  const folder = await cachedFolder("senders", `python-${await versionOf(requirements)}`, async (into) => {
    await run("python3", ["-m", "venv", "--copies", into]);
    const install = ["-m", "pip", "install", "--quiet", "--requirement", requirements];
    await run(join(into, "bin", "python"), install, { timeout: buildMs });
  });
  return [join(folder, "bin", "python"), join(programs, "python.py")];
}

async function go(): Promise<string[]> {
  const source = join(programs, "go");
  const version = await versionOf(join(source, "go.sum"), join(source, "main.go"));
  const folder = await cachedFolder("senders", `go-${version}`, async (into) => {
    await run("go", ["build", "-o", join(into, "sender"), "."], { cwd: source, timeout: buildMs });
  });
  return [join(folder, "sender")];
}

async function java(): Promise<string[]> {
  const source = join(programs, "java", "Sender.java");
  const jars = await classPathOf(join(programs, "java", "pom.xml"), "senders", "OpenTelemetry");
  const folder = await cachedFolder("senders", `java-${await versionOf(source)}`, async (into) => {
    await mkdir(into, { recursive: true });
    await run("javac", ["-cp", jars, "-d", into, source], { timeout: buildMs });
  });
  return ["java", "-Xmx512m", "-cp", `${jars}:${folder}`, "Sender"];
}
