import { open, rm } from "node:fs/promises";
import { join } from "node:path";

/** Bytes a second of appending groups to a file, one write and one fdatasync each, until they are `total` bytes. */
export async function plainWrites(folder: string, groupBytes: number, total: number): Promise<number> {
  const path = join(folder, "plain");
  const group = Buffer.alloc(Math.min(groupBytes, 4 * 1024 * 1024), "x");
  const file = await open(path, "w");
  try {
    const started = performance.now();
    let size = 0;
    while (size < total) {
      await file.write(group, 0, group.length, size);
      await file.datasync();
      size += group.length;
    }
    return (size / (performance.now() - started)) * 1000;
  } finally {
    await file.close();
    await rm(path);
  }
}
