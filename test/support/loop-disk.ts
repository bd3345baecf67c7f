import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export type FileSystem = "ext4" | "xfs";

/**
 * What happens to a disk whose processes live on: its file system finds an error and turns read-only (ext4), or shuts down,
 * so that each call answers EIO.
 */
export type DiskFailure = "read-only" | "shut down";

/** Of a disk, in megabytes: XFS takes no less. */
const megabytes = 600;
/**
 * A process that was killed uses its files for a moment longer; a mount namespace that was made meanwhile, as other tests make
 * them, has the file system too, as long as it lives. How long at the most, in milliseconds.
 */
const patience = 180_000;

/**
 * `FS_IOC_SHUTDOWN` without a flush of the log: what a sync has answered for stays, the rest may go. Processes stand still
 * meanwhile: a sync that is under way then may answer OK though nothing was kept, and a machine without power answers nobody.
 */
const cutPower = `
  my $flags = pack("L", 2);
  my @pids = split(",", shift(@ARGV));
  my @folders = map { open(my $folder, "<", $_) or die("$_: $!"); $folder } @ARGV;
  kill("STOP", @pids);
  for (@folders) { ioctl($_, 0x8004587D, $flags) or die("FS_IOC_SHUTDOWN: $!") }
  kill("KILL", @pids);`;

/** What is mounted, in its order, is not left behind when this process ends. */
const mounted = new Set<LoopDisk>();
process.once("exit", () => {
  for (const disk of [...mounted].toReversed()) disk.leave();
});

/** A file system of its own on a loop device, whose power can be cut. Needs root. */
export class LoopDisk {
  readonly folder: string;
  readonly #system: FileSystem;
  readonly #image: string;

  private constructor(system: FileSystem, image: string, folder: string) {
    this.#system = system;
    this.#image = image;
    this.folder = folder;
  }

  /** Why this machine cannot have one; undefined if it can. */
  static obstacle(system: FileSystem): string | undefined {
    if (process.platform !== "linux") return "needs loop devices, which only Linux has";
    if (process.getuid?.() !== 0) return "needs root, to mount a file system whose power is cut";
    const folder = mkdtempSync(join(tmpdir(), "sluice-loop-disk-"));
    try {
      const disk = LoopDisk.make(system, join(folder, "image"), join(folder, "disk"));
      execFileSync("perl", ["-e", "1"]);
      disk.leave();
      return undefined;
    } catch (error) {
      const program = system === "xfs" ? "xfsprogs" : "e2fsprogs";
      return `needs a loop device, perl, and mkfs.${system} (${program}): ${(error as Error).message.trim()}`;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  /** An empty one, mounted at `folder`, which is made. Its blocks lie in the file `image`. */
  static make(system: FileSystem, image: string, folder: string): LoopDisk {
    writeFileSync(image, "");
    truncateSync(image, megabytes * 1024 * 1024);
    execFileSync(`mkfs.${system}`, ["-q", image]);
    const disk = new LoopDisk(system, image, folder);
    disk.mount();
    return disk;
  }

  /** It fails while the processes that use it live on. */
  fail(failure: DiskFailure): void {
    if (failure === "shut down") return LoopDisk.cut([this], []);
    const device = execFileSync("findmnt", ["--noheadings", "--output", "SOURCE", this.folder], { encoding: "utf8" });
    writeFileSync(`/sys/fs/ext4/${basename(device.trim())}/trigger_fs_error`, "a test");
  }

  /** The power of these goes, at once, and of a machine with these processes, which are dead when this returns or soon after. */
  static cut(disks: readonly LoopDisk[], pids: readonly number[]): void {
    execFileSync("perl", ["-e", cutPower, pids.join(","), ...disks.map(({ folder }) => folder)]);
  }

  /** Mounts it, as a start of the machine does: the file system repairs itself from its log. */
  mount(): void {
    mkdirSync(this.folder, { recursive: true });
    const options = this.#system === "ext4" ? "loop,errors=remount-ro" : "loop";
    execFileSync("mount", ["-o", options, this.#image, this.folder]);
    mounted.add(this);
  }

  /** Resolves when it is, everywhere. The loop device goes with it. */
  async unmount(): Promise<void> {
    for (const end = Date.now() + patience; mounted.has(this) || this.#isAttached; await sleep(50)) {
      try {
        if (mounted.has(this)) execFileSync("umount", [this.folder], { stdio: "pipe" });
        mounted.delete(this);
      } catch (error) {
        if (Date.now() > end) throw error;
      }
      if (Date.now() > end) throw new Error(`${this.folder} is still mounted in another mount namespace`);
    }
  }

  get #isAttached(): boolean {
    return execFileSync("losetup", ["--associated", this.#image], { encoding: "utf8" }) !== "";
  }

  /** Unmounts it whoever uses it, and removes it. */
  leave(): void {
    if (mounted.delete(this)) execFileSync("umount", ["--lazy", this.folder]);
    rmSync(this.#image, { force: true });
  }
}
