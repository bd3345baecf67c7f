import { dirname } from "node:path";
import type { Disk } from "../core/disk.ts";

/**
 * Makes a folder and those above it where they are missing; each is there after a power cut when this resolves. What
 * could not be made durable is taken away again, so that a later call does not take it for durable.
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
