import { execFileSync } from "node:child_process";
import { mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Daemon, type DaemonOptions, type Listeners } from "../../examples/quickstart/daemon.ts";
import { freeAddresses } from "./ports.ts";

export const sluice = fileURLToPath(new URL("../../dist/sluice.js", import.meta.url));

/** Free loopback addresses, to be kept over restarts. */
export async function freeListeners(): Promise<Listeners> {
  const [api = "", events = ""] = await freeAddresses(2);
  return { api, events };
}

/** A folder of its own for one test, with `data` and `pipelines` in it. */
export class Workplace {
  readonly path: string;
  #daemons: Daemon[] = [];

  private constructor(path: string) {
    this.path = path;
  }

  static async make(): Promise<Workplace> {
    const path = await mkdtemp(join(tmpdir(), "sluice-e2e-"));
    await mkdir(join(path, "pipelines"));
    return new Workplace(path);
  }

  get dataDir(): string {
    return join(this.path, "data");
  }

  get pipelines(): string {
    return join(this.path, "pipelines");
  }

  /** Writes a pipeline file into the watched folder. */
  async write(name: string, text: string): Promise<void> {
    await writeFile(join(this.pipelines, name), text);
  }

  /** Starts `sluice run --dir pipelines` (or with other `args`) on this workplace's data dir. */
  async start(options: Partial<DaemonOptions> = {}): Promise<Daemon> {
    const { args = ["--dir", this.pipelines], ...rest } = options;
    const listeners = options.listeners ?? (await freeListeners());
    // A file counts after a fifth of it.
    const settle = args.includes("--dir") && !args.includes("--dir-settle") ? ["--dir-settle", "1s"] : [];
    const given = { sluice, dataDir: this.dataDir, ...rest, listeners, args: [...args, ...settle, "--interval", "1s"] };
    const daemon = await Daemon.start(given);
    this.#daemons.push(daemon);
    return daemon;
  }

  /** Ends what was started and removes the folder. */
  async clean(): Promise<void> {
    await Promise.all(this.#daemons.map((daemon) => daemon.stop("SIGKILL")));
    await rm(this.path, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

/** Process ids of the children of a process whose command line holds `text`. */
export function childrenOf(pid: number, text: string): number[] {
  const table = execFileSync("ps", ["-eo", "pid=,ppid=,args="], { encoding: "utf8" });
  return table
    .split("\n")
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line))
    .filter((match) => match !== null && Number(match[2]) === pid && match[3]!.includes(text))
    .map((match) => Number(match![1]));
}

/** The text of a webhook pipeline file with the fields id (string) and n (int). */
export function pipelineFile(
  pipeline_id: string,
  over: { sink?: string; rest?: string; xSluice?: string } = {},
): string {
  return `version: v3
pipeline_id: ${pipeline_id}
sources:
  - type: webhook
    source_id: input
    schema_fields:
      - { name: id, type: string }
      - { name: n, type: int }
${over.rest ?? ""}
sink:
  type: clickhouse
  connection_params: { host: embedded, database: default }
  table: ${pipeline_id.replaceAll("-", "_")}
  mapping:
    - { name: id, column_name: id, column_type: String }
    - { name: n, column_name: n, column_type: Int32 }
${over.sink ?? "  max_batch_size: 200\n  max_delay_time: 50ms"}
x-sluice:
  create_table: true
  access_token: \${env:SLUICE_SECRET_TOKEN}
${over.xSluice ?? ""}
`;
}

export const token = "a-token-of-the-tests";
export const tokenEnv = { SLUICE_SECRET_TOKEN: token };
