import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Daemon, DaemonOptions } from "../../../examples/quickstart/daemon.ts";
import { childrenOf, Workplace } from "../../support/daemon.ts";
import { type DiskFailure, type FileSystem, LoopDisk } from "../../support/loop-disk.ts";

/** Whose disk fails: one for both, or one of two. */
export type DiskOwner = "both" | "Sluice" | "ClickHouse";

/** The machine loses its power, and all processes end; or a disk fails, and they live on. */
export type Failure = "power" | DiskFailure;

/** So long Sluice lives on with a disk of ClickHouse that has failed, in milliseconds: longer than to the next write. */
const endures = 3_000;
/** Longer than a slow machine takes to come to the next write, in milliseconds. */
const endsWithin = 60_000;

export interface MachineOptions {
  system: FileSystem;
  failure: Failure;
  diskOf: DiskOwner;
  /** Whether ClickHouse's logs can be kept on disk write by write. */
  hasChattr: boolean;
}

type Start = Pick<DaemonOptions, "args" | "listeners" | "env">;

/** A machine that runs `sluice run`, and loses its power or a disk. */
export class Machine {
  readonly place: Workplace;
  readonly #options: MachineOptions;
  /** In the order in which they are mounted; the one for ClickHouse lies within the other. */
  readonly #disks: readonly LoopDisk[];
  readonly #failing: readonly LoopDisk[];
  readonly #killDaemon = (): void => this.#kill();
  /** How processes ended that a failed disk ended, such as `code 1`. */
  readonly endings: string[] = [];
  #daemon: Daemon | undefined;

  private constructor(place: Workplace, options: MachineOptions, disks: readonly LoopDisk[], failing: LoopDisk[]) {
    this.place = place;
    this.#options = options;
    this.#disks = disks;
    this.#failing = failing;
    process.once("exit", this.#killDaemon);
  }

  static async make(options: MachineOptions): Promise<Machine> {
    const place = await Workplace.make();
    const { system, diskOf } = options;
    const disks: LoopDisk[] = [];
    try {
      const own = LoopDisk.make(system, join(place.path, "sluice.img"), place.dataDir);
      disks.push(own);
      if (diskOf === "both") return new Machine(place, options, disks, disks);
      const clickhouse = LoopDisk.make(system, join(place.path, "clickhouse.img"), join(place.dataDir, "clickhouse"));
      disks.push(clickhouse);
      return new Machine(place, options, disks, [diskOf === "Sluice" ? own : clickhouse]);
    } catch (error) {
      for (const disk of disks.toReversed()) disk.leave();
      await place.clean();
      throw error;
    }
  }

  async start(start: Start): Promise<Daemon> {
    // Without a PATH, chattr is not found; nothing else that this daemon starts is looked for.
    const env = this.#options.hasChattr ? start.env : { ...start.env, PATH: join(this.place.path, "nothing") };
    this.#daemon = await this.place.start({ ...start, ...(env !== undefined && { env }) });
    return this.#daemon;
  }

  /** What was not synced may be gone. All processes have ended, and the disks are there again when this resolves. */
  async fail(): Promise<void> {
    const daemon = this.#daemon!;
    const { failure } = this.#options;
    const children = childrenOf(daemon.pid, "");
    if (failure === "power") LoopDisk.cut(this.#failing, [daemon.pid, ...children]);
    else await this.#outlive(failure);
    this.#kill(children);
    await daemon.ended();
    for (const disk of this.#disks.toReversed()) await disk.unmount();
    for (const disk of this.#disks) disk.mount();
    await this.#beginAnotherRun();
  }

  async #outlive(failure: DiskFailure): Promise<void> {
    for (const disk of this.#failing) disk.fail(failure);
    const daemon = this.#daemon!;
    // Sluice ends itself where its own disk fails.
    const patience = this.#options.diskOf === "ClickHouse" ? endures : endsWithin;
    await Promise.race([daemon.ended(), sleep(patience)]);
    if (daemon.ending !== undefined) this.endings.push(daemon.ending);
  }

  async clean(): Promise<void> {
    process.off("exit", this.#killDaemon);
    this.#kill();
    await this.#daemon?.ended();
    try {
      for (const disk of this.#disks.toReversed()) await disk.unmount();
    } finally {
      for (const disk of this.#disks.toReversed()) disk.leave();
      await this.place.clean();
    }
  }

  /** The machine that this runs on did not end, so it tells the same run as before. */
  async #beginAnotherRun(): Promise<void> {
    const path = join(this.place.dataDir, "clickhouse", "memory.json");
    const text = await readFile(path, "utf8").catch(() => "{}");
    const kept = JSON.parse(text) as { unsynced_in?: string };
    if (kept.unsynced_in === undefined) return;
    await writeFile(path, JSON.stringify({ ...kept, unsynced_in: "the run before" }));
  }

  #kill(children: readonly number[] = []): void {
    const daemon = this.#daemon;
    if (daemon === undefined) return;
    const own = daemon.hasEnded ? [] : [...childrenOf(daemon.pid, ""), daemon.pid];
    for (const pid of new Set([...children, ...own])) {
      try {
        process.kill(pid, "SIGKILL");
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
    }
  }
}
