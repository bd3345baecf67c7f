import { open, rename, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import { systemDisk } from "../system/disk.ts";

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
