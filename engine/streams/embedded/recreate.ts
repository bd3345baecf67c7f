import type { Disk } from "../../core/disk.ts";
import { makeFolders } from "../../state/durable-files.ts";
import { storageError } from "../../state/storage-error.ts";
import { removeSegment, SegmentFile } from "./segment-file.ts";
import { segmentFirsts } from "./scan.ts";
import { answeredName, answeredPath, headerSize, segmentFirst, segmentPath, type Folder } from "./segment.ts";

/**
 * Makes an empty stream in a folder that is too damaged to be opened: its events are dropped. Sequences go on after
 * `after` and after all that the files can have held. Safe to repeat after a crash. Throws EngineError.
 */
export async function recreateStream(disk: Disk, path: string, after: number): Promise<void> {
  const folder = { disk, path };
  try {
    await makeFolders(disk, path);
    // Durable with the new segment's name.
    await disk.rm(answeredPath(folder));
    const firsts = await segmentFirsts(folder);
    let last = after;
    // No event takes less than a byte.
    for (const first of firsts) last = Math.max(last, first + (await sizeOf(folder, first)));
    const file = await SegmentFile.create(folder, last + 1);
    await file.close();
    for (const first of firsts) await removeSegment(folder, first);
  } catch (error) {
    throw storageError(error);
  }
}

/** Whether a stream's folder may hold events; a missing folder holds none. */
export async function holdsEvents(disk: Disk, path: string): Promise<boolean> {
  const names = await disk.readdir(path).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code !== "ENOENT" && error.code !== "ENOTDIR") throw storageError(error);
    return [];
  });
  for (const name of names) {
    const first = segmentFirst(name);
    if (name.endsWith(".new") || name === answeredName) continue;
    if (first === undefined || (await sizeOf({ disk, path }, first)) > headerSize) return true;
  }
  return false;
}

async function sizeOf(folder: Folder, first: number): Promise<number> {
  const file = await folder.disk.open(segmentPath(folder, first), "read");
  try {
    return await file.size();
  } finally {
    await file.close();
  }
}
