import { open, rename, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import { systemDisk } from "../system/disk.ts";
import type { Disk, DiskFile } from "../core/disk.ts";

/**
 * Replaces a small file so that a reader, or a power cut, finds the old text or the new one, never a part. `mode` are
 * its permissions; without it they are the owner's alone.
 */
export async function writeFileDurably(path: string, text: string, mode = 0o600): Promise<void> {
  const temporary = `${path}.new`;
  try {
    const file = await open(temporary, "w", 0o600);
    try {
      await file.chmod(mode);
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw error;
  }
  await systemDisk.syncFolder(dirname(path));
}

/** Makes a file with these bytes, in the place of another or of none; it is there as a whole after a power cut when this resolves. */
export async function makeFile(disk: Disk, path: string, bytes: Buffer): Promise<void> {
  const temporary = `${path}.new`;
  try {
    const file = await disk.open(temporary, "create");
    try {
      await writeAll(file, bytes, 0);
      await file.sync();
    } finally {
      await file.close();
    }
    await disk.rename(temporary, path);
  } catch (error) {
    await disk.unlink(temporary).catch(() => undefined);
    throw error;
  }
  await disk.syncFolder(dirname(path));
}

/** Writes all of `bytes` from `position` on; a write of the system may take a part of them. */
export async function writeAll(file: DiskFile, bytes: Buffer, position: number): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    written += await file.write(bytes.subarray(written), position + written);
  }
}

/**
 * Makes a folder and those above it where they are missing; each is there after a power cut when this resolves. A
 * folder that could not be made durable is removed, so that a later call does not take it for durable.
 */
export async function makeFolders(disk: Disk, path: string): Promise<void> {
  const parent = dirname(path);
  const isMade = await disk.mkdir(path).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT" || parent === path) throw error;
    await makeFolders(disk, parent);
    return disk.mkdir(path);
  });
  if (!isMade) return;
  try {
    await disk.syncFolder(parent);
  } catch (error) {
    await disk.rmdir(path).catch(() => undefined);
    throw error;
  }
}
