import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Daemon, DaemonOptions } from "../../../examples/quickstart/daemon.ts";
import { childrenOf, Workplace } from "../../support/daemon.ts";
import { type FileSystem, LoopDisk } from "./loop-disk.ts";

/** Whose disk loses its power: one for both, or one of two. All processes end with either. */
export type PowerCut = "both" | "Sluice" | "ClickHouse";

export interface MachineOptions {
  system: FileSystem;
  cut: PowerCut;
  /** Whether ClickHouse's logs can be kept on disk write by write. */
  hasChattr: boolean;
}

type Start = Pick<DaemonOptions, "args" | "listeners" | "env">;

/** A machine that runs `sluice run`, and loses its power. */
export class Machine {
  readonly place: Workplace;
  readonly #options: MachineOptions;
  /** In the order in which they are mounted; the one for ClickHouse lies within the other. */
  readonly #disks: readonly LoopDisk[];
  readonly #failing: readonly LoopDisk[];
  readonly #killDaemon = (): void => this.#kill();
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
    const { system, cut } = options;
    const disks: LoopDisk[] = [];
    try {
      const own = LoopDisk.make(system, join(place.path, "sluice.img"), place.dataDir);
      disks.push(own);
      if (cut === "both") return new Machine(place, options, disks, disks);
      const clickhouse = LoopDisk.make(system, join(place.path, "clickhouse.img"), join(place.dataDir, "clickhouse"));
      disks.push(clickhouse);
      return new Machine(place, options, disks, [cut === "Sluice" ? own : clickhouse]);
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

  /** Everything ends at once, and what was not synced is gone. The disks are there again when this resolves. */
  async losePower(): Promise<void> {
    const daemon = this.#daemon!;
    LoopDisk.cut(this.#failing, [daemon.pid, ...childrenOf(daemon.pid, "")]);
    await daemon.ended();
    for (const disk of this.#disks.toReversed()) await disk.unmount();
    for (const disk of this.#disks) disk.mount();
    await this.#beginAnotherRun();
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

  #kill(): void {
    const daemon = this.#daemon;
    if (daemon === undefined || daemon.hasEnded) return;
    for (const pid of [...childrenOf(daemon.pid, ""), daemon.pid]) {
      try {
        process.kill(pid, "SIGKILL");
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
    }
  }
}
