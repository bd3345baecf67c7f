import { chmod, realpath, rename, rm, stat, writeFile } from "node:fs/promises";

/**
 * Replaces a file: a reader, or a power cut, finds the old text or the new one, never a part. A symbolic link stays,
 * and the file keeps its permissions. The durable write of the engine is not used, because it would load the engine.
 */
export async function replaceFile(path: string, text: string): Promise<void> {
  const file = await realpath(path);
  const { mode } = await stat(file);
  const temporary = `${file}.new`;
  try {
    await writeFile(temporary, text, { mode: 0o600, flush: true });
    await chmod(temporary, mode & 0o777);
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
