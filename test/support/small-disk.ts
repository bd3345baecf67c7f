import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, rmSync, statfsSync, writeSync } from "node:fs";
import { join } from "node:path";

/**
 * A small disk of its own: a tmpfs in a mount namespace, which needs no rights on most Linux systems. Programs are run
 * inside with `wrap`; the test reaches the files through `path`.
 */
export class SmallDisk {
  readonly #holder: ChildProcess;
  readonly #folder: string;
  #filler: string | undefined;

  private constructor(holder: ChildProcess, folder: string) {
    this.#holder = holder;
    this.#folder = folder;
  }

  /** Why this machine cannot have one; undefined if it can. */
  static obstacle(): string | undefined {
    if (process.platform !== "linux") return "needs mount namespaces, which only Linux has";
    try {
      execFileSync("unshare", ["-Urm", "true"], { stdio: "ignore" });
      execFileSync("nsenter", ["--version"], { stdio: "ignore" });
      return undefined;
    } catch {
      return "needs `unshare -Urm` and `nsenter`, which this system refuses or lacks";
    }
  }

  /** Makes a disk of `megabytes` at `folder`, which exists. */
  static async make(folder: string, megabytes: number): Promise<SmallDisk> {
    const script = `mount -t tmpfs -o size=${megabytes}m tmpfs "$1" && echo mounted && exec sleep infinity`;
    const holder = spawn("unshare", ["-Urm", "sh", "-c", script, "sh", folder], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [said] = (await once(holder.stdout, "data")) as [Buffer];
    if (said.toString().trim() !== "mounted")
      throw new Error(`the small disk could not be mounted: ${said.toString()}`);
    return new SmallDisk(holder, folder);
  }

  /** The command line that runs `command` where the disk is mounted. */
  wrap(command: string[]): string[] {
    return ["nsenter", "--preserve-credentials", "-U", "-m", "-t", String(this.#holder.pid), ...command];
  }

  /** The disk as it is reached from outside. */
  get path(): string {
    return `/proc/${this.#holder.pid}/root${this.#folder}`;
  }

  get freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.path);
    return bavail * bsize;
  }

  /** Fills it until `leave` bytes are free. */
  fill(leave: number): void {
    this.#filler ??= join(this.path, "filler");
    const file = openSync(this.#filler, "a");
    const chunk = Buffer.alloc(64 * 1024);
    try {
      while (this.freeBytes > leave)
        writeSync(file, chunk, 0, Math.max(1, Math.min(chunk.length, this.freeBytes - leave)));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
    } finally {
      closeSync(file);
    }
  }

  /** Makes room again. */
  empty(): void {
    if (this.#filler !== undefined) rmSync(this.#filler, { force: true });
  }

  /** Lets nothing be written any more. */
  freeze(): void {
    this.#remount("ro");
  }

  thaw(): void {
    this.#remount("rw");
  }

  #remount(mode: "ro" | "rw"): void {
    const [command = "", ...args] = this.wrap(["mount", "-o", `remount,${mode}`, this.#folder]);
    execFileSync(command, args);
  }

  async remove(): Promise<void> {
    this.#holder.kill("SIGKILL");
    if (this.#holder.exitCode === null && this.#holder.signalCode === null) await once(this.#holder, "exit");
  }
}
