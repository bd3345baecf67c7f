import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build, type BuildOptions } from "esbuild";
import type { PositionRange } from "../../engine/core/positions.ts";
import type { Orders } from "./kill-orders.ts";

/** Kills a daemon that was started with its environment at an exact step (see `killer.ts`). */
export class Trap {
  /** What was built. */
  readonly script: string;
  readonly #orders: string;

  private constructor(folder: string) {
    this.script = join(folder, "killer.mjs");
    this.#orders = join(folder, "orders.json");
  }

  /** Builds what is loaded into the daemon, in `folder`: one of the killers beside this file, built with options `over`. */
  static async make(folder: string, killer = "killer.ts", over: BuildOptions = {}): Promise<Trap> {
    const trap = new Trap(folder);
    await build({
      entryPoints: [fileURLToPath(new URL(killer, import.meta.url))],
      outfile: trap.script,
      bundle: true,
      platform: "node",
      format: "esm",
      target: "node20",
      // A process that is given no environment of ours finds the orders too.
      banner: { js: `process.env["KILL_ORDERS"] ??= ${JSON.stringify(trap.#orders)};` },
      ...over,
    });
    return trap;
  }

  get env(): Record<string, string> {
    const options = process.env["NODE_OPTIONS"] ?? "";
    return { NODE_OPTIONS: `${options} --import ${pathToFileURL(this.script).href}`, KILL_ORDERS: this.#orders };
  }

  /** From now on the step is waited for, in the process that runs or the next one. */
  async arm(orders: Orders): Promise<void> {
    await this.disarm();
    await writeFile(`${this.#orders}.new`, JSON.stringify(orders));
    await rename(`${this.#orders}.new`, this.#orders);
  }

  /**
   * Takes the orders back. Returns what the batch held at whose step they were carried out, where that is known. Throws if
   * they were not: then the process ended of something else.
   */
  async collect(): Promise<PositionRange[]> {
    try {
      return JSON.parse(await readFile(`${this.#orders}.done`, "utf8")) as PositionRange[];
    } catch (cause) {
      throw new Error("expected the daemon to be killed at a step; it ended before it came there", { cause });
    } finally {
      await this.disarm();
    }
  }

  /** Takes the orders back, carried out or not. */
  async disarm(): Promise<void> {
    for (const end of ["", ".held", ".done"]) await rm(`${this.#orders}${end}`, { force: true });
  }
}
