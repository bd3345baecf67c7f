import type { Disk, DiskFile } from "../../engine/core/disk.ts";
import { systemDisk } from "../../engine/system/disk.ts";

/** The disk of this machine, whose syncs of files wait while a test holds them, and which is as full as a test says. */
export class HeldDisk implements Disk {
  readonly #gate = new Gate();
  /** Bytes that it says are free; undefined for those that are. */
  free: number | undefined;

  /** From now on each sync of a file waits. */
  hold(): void {
    this.#gate.isHeld = true;
  }

  /** Resolves when a sync waits. */
  isReached(): Promise<void> {
    return this.#gate.isReached();
  }

  letGo(): void {
    this.#gate.open();
  }

  async open(...[path, mode]: Parameters<Disk["open"]>): Promise<DiskFile> {
    return new HeldFile(await systemDisk.open(path, mode), this.#gate);
  }

  rename(from: string, to: string): Promise<void> {
    return systemDisk.rename(from, to);
  }

  unlink(path: string): Promise<void> {
    return systemDisk.unlink(path);
  }

  mkdir(path: string): Promise<boolean> {
    return systemDisk.mkdir(path);
  }

  rmdir(path: string): Promise<void> {
    return systemDisk.rmdir(path);
  }

  readdir(path: string): Promise<string[]> {
    return systemDisk.readdir(path);
  }

  rm(path: string): Promise<void> {
    return systemDisk.rm(path);
  }

  async freeBytes(path: string): Promise<number> {
    return this.free ?? (await systemDisk.freeBytes(path));
  }

  syncFolder(path: string): Promise<void> {
    return systemDisk.syncFolder(path);
  }
}

class Gate {
  isHeld = false;
  readonly #waiting: (() => void)[] = [];
  readonly #reached: (() => void)[] = [];

  pass(): Promise<void> {
    if (!this.isHeld) return Promise.resolve();
    for (const resolve of this.#reached.splice(0)) resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  isReached(): Promise<void> {
    return this.#waiting.length > 0 ? Promise.resolve() : new Promise((resolve) => this.#reached.push(resolve));
  }

  open(): void {
    this.isHeld = false;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

class HeldFile implements DiskFile {
  readonly #file: DiskFile;
  readonly #gate: Gate;

  constructor(file: DiskFile, gate: Gate) {
    this.#file = file;
    this.#gate = gate;
  }

  read(target: Buffer, position: number): Promise<number> {
    return this.#file.read(target, position);
  }

  write(bytes: Buffer, position: number): Promise<number> {
    return this.#file.write(bytes, position);
  }

  truncate(size: number): Promise<void> {
    return this.#file.truncate(size);
  }

  size(): Promise<number> {
    return this.#file.size();
  }

  async sync(): Promise<void> {
    await this.#gate.pass();
    await this.#file.sync();
  }

  async datasync(): Promise<void> {
    await this.#gate.pass();
    await this.#file.datasync();
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}
