import type { Disk, DiskFile } from "../../../engine/core/disk.ts";
import { SimulatedFile, SimulatedFolder, systemError, type Choose } from "./disk-nodes.ts";

/** A kind of call. */
export type DiskCall = keyof Disk | keyof DiskFile;

/**
 * What befalls one call. `taken` says what of it has happened all the same: nothing, a part (of a write or a sync; of
 * other calls it is all), or all. Without a `code`, a write is merely short.
 */
export interface DiskFault {
  code?: string;
  taken?: "nothing" | "part" | "all";
}

/**
 * A disk in memory that keeps over a crash only what was synced, and of the rest what a seeded choice says: each name
 * that was made, changed or removed since its folder was synced may be there or not, and bytes that were written since
 * their file was synced may be there, be there in part, be zeros, or not be there. A sync that fails has lost a part of
 * what it was to make durable for good, although it can still be read until the crash.
 *
 * Every call resolves some microtasks later, by the choice, and does nothing else that takes time.
 */
export class SimulatedDisk {
  /** How often each kind of call was made. */
  readonly calls = new Map<DiskCall, number>();
  /** The faults that were met, such as `datasync EIO`. */
  readonly met = new Map<string, number>();
  /** What `freeBytes` says. */
  free = Infinity;
  readonly #choose: Choose;
  #root: SimulatedFolder;
  #boots = 0;
  readonly #faults = new Map<DiskCall, Map<number, DiskFault>>();
  readonly #open = new Map<DiskFile, string>();

  /** `choose` gives a whole number from 0 up to and without `n`. */
  constructor(choose: Choose) {
    this.#choose = choose;
    this.#root = new SimulatedFolder(choose);
  }

  /** The disk as a process sees it that starts now. After the next crash its calls do nothing and are never answered. */
  boot(): Disk {
    const boot = this.#boots;
    const call = <Result>(kind: DiskCall, work: (taken: DiskFault) => Result): Promise<Result> =>
      this.#call(boot, kind, work);
    return {
      open: (path, mode) => this.#openFile(boot, path, mode),
      rename: (from, to) => call("rename", () => this.#rename(from, to)),
      unlink: (path) => call("unlink", () => this.#unlink(path)),
      mkdir: (path) => call("mkdir", () => this.#mkdir(path)),
      rmdir: (path) => call("rmdir", () => this.#rmdir(path)),
      readdir: (path) => call("readdir", () => [...this.#folderAt(path).names.keys()]),
      rm: (path) => call("rm", () => this.#rm(path)),
      freeBytes: () => call("freeBytes", () => this.free),
      syncFolder: (path) => call("syncFolder", (fault) => this.#folderAt(path).sync(fault)),
    };
  }

  /** The power goes: what is not durable may be lost, and every handle is gone. */
  crash(): void {
    this.#boots += 1;
    this.#open.clear();
    this.#faults.clear();
    this.#root.crash();
  }

  /** The `kth` call of a kind from now on, counted from 1, meets a fault. */
  fail(kind: DiskCall, kth: number, fault: DiskFault): void {
    const faults = this.#faults.get(kind) ?? new Map<number, DiskFault>();
    this.#faults.set(kind, faults.set((this.calls.get(kind) ?? 0) + kth, fault));
  }

  /** From now on no call meets a fault. */
  heal(): void {
    this.#faults.clear();
  }

  /** Turns one bit of a file round, for good. */
  flip(path: string, bit: number): void {
    this.#fileAt(path).flip(bit);
  }

  /** The paths of files that are open, one for each handle. */
  get handles(): string[] {
    return [...this.#open.values()];
  }

  /** What a path holds now. */
  contentOf(path: string): Buffer {
    return Buffer.from(this.#fileAt(path).content);
  }

  async #call<Result>(boot: number, kind: DiskCall, work: (fault: DiskFault) => Result): Promise<Result> {
    const count = (this.calls.get(kind) ?? 0) + 1;
    this.calls.set(kind, count);
    for (let left = 1 + this.#choose(3); left > 0; left -= 1) await Promise.resolve();
    if (boot !== this.#boots) return new Promise(() => undefined);
    const fault = this.#faults.get(kind)?.get(count) ?? {};
    const { code, taken = "nothing" } = fault;
    if (Object.keys(fault).length > 0) add(this.met, `${kind} ${code ?? "short"}`);
    if (code !== undefined && taken === "nothing" && !isSync(kind)) {
      throw systemError(code, kind);
    }
    const result = work(fault);
    if (code !== undefined) throw systemError(code, kind);
    await Promise.resolve();
    return boot === this.#boots ? result : new Promise(() => undefined);
  }

  async #openFile(boot: number, path: string, mode: "read" | "write" | "create"): Promise<DiskFile> {
    const node = await this.#call(boot, "open", () => (mode === "create" ? this.#create(path) : this.#fileAt(path)));
    const call = <Result>(kind: DiskCall, work: (fault: DiskFault) => Result): Promise<Result> => {
      if (boot === this.#boots && !this.#open.has(handle)) throw systemError("EBADF", `${kind} ${path}`);
      return this.#call(boot, kind, work);
    };
    const assertWritable = (): void => {
      if (mode === "read") throw systemError("EBADF", `${path} is open for reading`);
    };
    const handle: DiskFile = {
      read: (target, position) => call("read", () => node.read(target, position)),
      write: (bytes, position) => {
        assertWritable();
        // What the caller does with its memory later is not written.
        const copy = Buffer.from(bytes);
        return call("write", (fault) => node.write(copy, position, fault));
      },
      truncate: (size) => {
        assertWritable();
        return call("truncate", () => node.truncate(size));
      },
      size: () => call("size", () => node.content.length),
      sync: () => call("sync", (fault) => node.sync(fault)),
      datasync: () => call("datasync", (fault) => node.sync(fault)),
      // Also where it says that it failed, the handle is gone.
      close: () => call("close", () => undefined).finally(() => this.#open.delete(handle)),
    };
    if (boot !== this.#boots) return new Promise(() => undefined);
    this.#open.set(handle, path);
    return handle;
  }

  #create(path: string): SimulatedFile {
    const folder = this.#parentOf(path);
    const present = folder.names.get(nameOf(path));
    if (present instanceof SimulatedFolder) throw systemError("EISDIR", path);
    if (present !== undefined) {
      present.truncate(0);
      return present;
    }
    const file = new SimulatedFile(this.#choose);
    folder.set(nameOf(path), file);
    return file;
  }

  #rename(from: string, to: string): void {
    const node = this.#fileAt(from);
    const [source, target] = [this.#parentOf(from), this.#parentOf(to)];
    if (source !== target) throw systemError("EXDEV", `${from} to ${to}: this disk renames within a folder`);
    source.rename(nameOf(from), nameOf(to), node);
  }

  #unlink(path: string): void {
    this.#fileAt(path);
    this.#parentOf(path).remove(nameOf(path));
  }

  #mkdir(path: string): boolean {
    const folder = this.#parentOf(path);
    if (folder.names.has(nameOf(path))) return false;
    folder.set(nameOf(path), new SimulatedFolder(this.#choose));
    return true;
  }

  #rmdir(path: string): void {
    if (this.#folderAt(path).names.size > 0) throw systemError("ENOTEMPTY", path);
    this.#parentOf(path).remove(nameOf(path));
  }

  #rm(path: string): void {
    const folder = this.#parentOf(path);
    if (folder.names.has(nameOf(path))) folder.remove(nameOf(path));
  }

  #parentOf(path: string): SimulatedFolder {
    return this.#folderAt(path.slice(0, path.lastIndexOf("/")));
  }

  #folderAt(path: string): SimulatedFolder {
    let folder = this.#root;
    for (const name of path.split("/").filter((part) => part !== "")) {
      const node = folder.names.get(name);
      if (node === undefined) throw systemError("ENOENT", path);
      if (!(node instanceof SimulatedFolder)) throw systemError("ENOTDIR", path);
      folder = node;
    }
    return folder;
  }

  #fileAt(path: string): SimulatedFile {
    const node = this.#parentOf(path).names.get(nameOf(path));
    if (node === undefined) throw systemError("ENOENT", path);
    if (node instanceof SimulatedFolder) throw systemError("EISDIR", path);
    return node;
  }
}

function isSync(kind: DiskCall): boolean {
  return kind === "sync" || kind === "datasync" || kind === "syncFolder";
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function add(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
