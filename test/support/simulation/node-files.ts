import type { Disk, DiskFile } from "../../../engine/core/disk.ts";
import { Life } from "./clock.ts";

/** Where the files of a simulation are: no folder of this machine. */
const root = "/data";

/** The disk that each process of a simulation reaches, and what it can read of it at once. */
export interface FilesOfLife {
  disk: Disk;
  contentOf(path: string): Buffer;
}

const files = new WeakMap<Life, FilesOfLife>();

/** From now on, code that is a part of `life` finds the data dir on this disk, whatever it reads and writes it with. */
export function giveFiles(life: Life, of: FilesOfLife): void {
  files.set(life, of);
}

/** The files of the process that asks, for a path in the data dir of a simulation; undefined for any other. */
function filesFor(path: unknown): FilesOfLife | undefined {
  if (typeof path !== "string" || !(path === root || path.startsWith(`${root}/`))) return undefined;
  return Life.current === undefined ? undefined : files.get(Life.current);
}

/** `node:fs` and `node:fs/promises` as the reconciler uses them: what lies in the data dir of a simulation is simulated. */
export function simulatedFs<Fs extends object>(fs: Fs): Fs {
  const { readFileSync } = fs as { readFileSync: (path: string, encoding?: string) => unknown };
  return {
    ...fs,
    readFileSync: (path: string, encoding?: "utf8") => {
      const found = filesFor(path);
      if (found === undefined) return readFileSync(path, encoding);
      const bytes = found.contentOf(path);
      return encoding === undefined ? bytes : bytes.toString(encoding);
    },
  };
}

export function simulatedFsPromises<Fs extends object>(fs: Fs): Fs {
  const { open, rename, unlink } = fs as Record<string, (...parts: unknown[]) => Promise<unknown>>;
  return {
    ...fs,
    open: (path: string, flags: string, mode: number) => {
      const disk = filesFor(path)?.disk;
      return disk === undefined ? open!(path, flags, mode) : openSimulated(disk, path, flags);
    },
    rename: (from: string, to: string) => filesFor(from)?.disk.rename(from, to) ?? rename!(from, to),
    unlink: (path: string) => filesFor(path)?.disk.unlink(path) ?? unlink!(path),
  };
}

/** The part of `FileHandle` that is used. */
async function openSimulated(disk: Disk, path: string, flags: string): Promise<object> {
  if (path === root) return { sync: () => disk.syncFolder(path), close: () => Promise.resolve() };
  const file = await disk.open(path, flags === "w" ? "create" : flags === "a" ? "write" : "read");
  return {
    chmod: () => Promise.resolve(),
    writeFile: (text: string) => writeAll(file, Buffer.from(text), 0),
    appendFile: async (text: string) => writeAll(file, Buffer.from(text), await file.size()),
    stat: async () => ({ size: await file.size() }),
    truncate: (size: number) => file.truncate(size),
    sync: () => file.sync(),
    datasync: () => file.datasync(),
    close: () => file.close(),
  };
}

async function writeAll(file: DiskFile, bytes: Buffer, offset: number): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    const count = await file.write(bytes.subarray(written), offset + written);
    if (count === 0) throw Object.assign(new Error("EIO: nothing was written"), { code: "EIO" });
    written += count;
  }
}
