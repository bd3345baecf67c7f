import type { Disk, DiskFile } from "../../../engine/core/disk.ts";
import type { Machine } from "../../../engine/machine.ts";
import { EngineError } from "../../../engine/index.ts";
import { dataDirFormat } from "../../../engine/state/data-dir.ts";
import { Life } from "./clock.ts";
import { SimulatedDisk } from "./disk.ts";
import type { Draw } from "./network.ts";
import { SimulatedStore, SimulatedStoreFile } from "./store.ts";

/** So small that the few events of a world fill and leave many files, in bytes. */
const segments = { limit: 2_048, reclaimed: 256 };

/** Where a process of a simulation has its state. */
export const dataDir = "/data";

/** The slowest call of the disk that has to reach the platter, in milliseconds. */
const slowestSync = 4;

/** What of a process lies on its machine: it outlives the process, and may be copied. */
export class SimulatedMachine {
  readonly disk: SimulatedDisk;
  readonly #draw: Draw;
  readonly #id: string;
  #state: SimulatedStoreFile;
  #owner: Life | undefined;

  constructor(draw: Draw, id = "0123456789abcdef") {
    this.#draw = draw;
    this.#id = id;
    this.disk = new SimulatedDisk(draw);
    this.#state = new SimulatedStoreFile();
  }

  /** Is called when the store of a process is broken, which ends it. */
  onBroken: () => void = () => undefined;

  /** Errors that the next transactions of the store meet. */
  get storeTroubles(): ("ENOSPC" | "EIO")[] {
    return this.#state.troubles;
  }

  /** What an engine that is a part of `life` asks of this machine. */
  host(life: Life): Omit<Machine, "spawnThread" | "embedClickHouse"> {
    const disk = this.diskOf(life);
    return {
      disk,
      segments,
      takeDataDir: async (path) => {
        this.#take(life);
        if (await disk.mkdir(path)) await disk.syncFolder("/");
        const release = (): void => {
          if (this.#owner === life) this.#owner = undefined;
        };
        const folder = (...names: string[]): string => [path, ...names].join("/");
        return { path, id: this.#id, format: dataDirFormat, folder, upgraded: () => Promise.resolve(), release };
      },
      openStore: () => {
        const store = new SimulatedStore(this.#state, this.#draw, () => this.#broken());
        life.onEnd(() => store.end());
        return store;
      },
    };
  }

  #broken(): void {
    // What was not synced may be on the disk.
    this.#state.crash(this.#draw);
    setImmediate(() => this.onBroken());
  }

  /** The process that owned it was killed: what it had written is there, as the machine goes on. */
  killed(): void {
    this.#state.sync();
  }

  /** The power goes: what was not synced may be lost. */
  losePower(): void {
    this.disk.crash();
    this.#state.crash(this.#draw);
  }

  /** The disk as a process reaches it: calls that must become durable take time, and whoever is dead hears no answer. */
  diskOf(life: Life): Disk {
    const boot = this.disk.boot();
    const living = async <Result>(work: () => Promise<Result>, slowest = 0): Promise<Result> => {
      // Also what takes no time takes a turn: a loop that never waits is seen by its many steps.
      await new Promise<void>((resolve) => {
        if (slowest > 0) setTimeout(resolve, this.#draw(slowest));
        else setImmediate(resolve);
      });
      if (life.isOver) return new Promise(() => undefined);
      const result = work();
      await result.catch(() => undefined);
      return life.isOver ? new Promise(() => undefined) : result;
    };
    return {
      open: async (path, mode) => livingFile(await living(() => boot.open(path, mode)), living),
      rename: (from, to) => living(() => boot.rename(from, to)),
      unlink: (path) => living(() => boot.unlink(path)),
      mkdir: (path) => living(() => boot.mkdir(path)),
      rmdir: (path) => living(() => boot.rmdir(path)),
      readdir: (path) => living(() => boot.readdir(path)),
      rm: (path) => living(() => boot.rm(path)),
      freeBytes: (path) => living(() => boot.freeBytes(path)),
      syncFolder: (path) => living(() => boot.syncFolder(path), slowestSync),
    };
  }

  #take(life: Life): void {
    if (this.#owner !== undefined && !this.#owner.isOver) {
      throw new EngineError("DATA_DIR_HELD", `data dir ${dataDir} is held by another process`);
    }
    this.#owner = life;
  }
}

function livingFile(
  file: DiskFile,
  living: <Result>(work: () => Promise<Result>, slowest?: number) => Promise<Result>,
): DiskFile {
  return {
    read: (target, position) => living(() => file.read(target, position)),
    write: (bytes, position) => living(() => file.write(bytes, position)),
    truncate: (size) => living(() => file.truncate(size)),
    size: () => living(() => file.size()),
    sync: () => living(() => file.sync(), slowestSync),
    datasync: () => living(() => file.datasync(), slowestSync),
    close: () => living(() => file.close()),
  };
}
