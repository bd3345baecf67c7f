import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { writeFileDurably } from "../../../state/durable-files.ts";

const run = promisify(execFile);

interface Kept {
  identity: string;
  /** The run of the machine in which tokens were written that may not be on disk; empty where that is not known. */
  unsynced_in?: string;
}

/**
 * The identity of what the embedded ClickHouse remembers of inserts, in a file beside its data. It becomes another one
 * where the machine may have ended before its tokens were on disk: whoever waits for the answer to an insert then knows
 * that a repeat may not be recognised.
 */
export class Memory {
  readonly #path: string;
  #kept: Kept;

  private constructor(path: string, kept: Kept) {
    this.#path = path;
    this.#kept = kept;
  }

  /** Decides which one it is. Throws errors of the system. */
  static async open(folder: string): Promise<Memory> {
    const path = join(folder, "memory.json");
    const found = await read(path);
    if (found !== undefined && (found.unsynced_in === undefined || (await isSameRun(found.unsynced_in)))) {
      return new Memory(path, found);
    }
    const memory = new Memory(path, found ?? { identity: "" });
    await memory.#keep({ identity: randomUUID() });
    return memory;
  }

  get identity(): string {
    return this.#kept.identity;
  }

  /**
   * Whether tokens that are written from now on, and all before them, are on disk before they count; noted durably when this
   * resolves. One call at a time. Throws errors of the system.
   */
  async note(isSynced: boolean): Promise<void> {
    const { identity, unsynced_in } = this.#kept;
    if (isSynced === (unsynced_in === undefined)) return;
    await this.#keep({ identity, ...(!isSynced && { unsynced_in: (await runOfMachine()) ?? "" }) });
  }

  async #keep(kept: Kept): Promise<void> {
    await writeFileDurably(this.#path, `${JSON.stringify(kept)}\n`);
    this.#kept = kept;
  }
}

/** Undefined where there is none yet, and for a text that is not one: then nothing is known of what was remembered. */
async function read(path: string): Promise<Kept | undefined> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    return "null";
  });
  try {
    const kept = JSON.parse(text) as Partial<Kept> | null;
    const isOne = typeof kept?.identity === "string" && kept.identity !== "";
    return isOne ? (kept as Kept) : undefined;
  } catch {
    return undefined;
  }
}

async function isSameRun(before: string): Promise<boolean> {
  return before !== "" && before === (await runOfMachine());
}

/** Which run of the machine this is, from its start to its end; undefined where the system does not tell. */
async function runOfMachine(): Promise<string | undefined> {
  const asked =
    process.platform === "linux"
      ? readFile("/proc/sys/kernel/random/boot_id", "utf8")
      : run("sysctl", ["-n", "kern.bootsessionuuid"]).then(({ stdout }) => stdout);
  return asked.then(
    (text) => text.trim(),
    () => undefined,
  );
}
