import { join } from "node:path";
import type { Disk, DiskFile } from "../core/disk.ts";
import { makeFile } from "../state/durable-files.ts";
import { storageError } from "../state/storage-error.ts";
import type { Location } from "./buffered-events.ts";
import { entryPrefix, segmentHeadLength } from "./part.ts";

/** Files that stay open to be read. */
const mostOpen = 64;
/** Buffered events that lie no further apart are read together, and at most so many bytes at once. */
const [gap, together] = [16 * 1024, 1024 * 1024];
/** Reads at the same time. */
const parallel = 16;

/** A file that is open to be read; one that is dropped is closed at the end of its last read. */
interface OpenFile {
  readonly opened: Promise<DiskFile>;
  reads: number;
  isDropped: boolean;
}

/** The segment files of a log, by their numbers. */
export class LogFiles {
  readonly folder: string;
  readonly #disk: Disk;
  /** The least recently used first. */
  readonly #open = new Map<number, OpenFile>();

  constructor(disk: Disk, folder: string) {
    this.#disk = disk;
    this.folder = folder;
  }

  path(number: number): string {
    return join(this.folder, `${String(number).padStart(12, "0")}.join`);
  }

  /** The path of the mark of what was durable. */
  get durablePath(): string {
    return join(this.folder, "durable");
  }

  /** The numbers of the segments, ascending. Files that were not completed are removed. */
  async numbers(): Promise<number[]> {
    const names = await this.#disk.readdir(this.folder);
    for (const name of names) if (name.endsWith(".new")) await this.#disk.rm(join(this.folder, name));
    return names
      .filter((name) => /^\d{12}\.join$/.test(name))
      .map((name) => Number(name.slice(0, 12)))
      .toSorted((one, other) => one - other);
  }

  /** Makes a file that begins with `head`; it is there as a whole after a power cut when this resolves. */
  make(number: number, head: Buffer): Promise<void> {
    return makeFile(this.#disk, this.path(number), head);
  }

  openToWrite(number: number): Promise<DiskFile> {
    return this.#disk.open(this.path(number), "write");
  }

  async remove(number: number): Promise<void> {
    await this.#drop(number, this.#open.get(number));
    await this.#disk.rm(this.path(number));
    await this.#disk.syncFolder(this.folder);
  }

  /** Calls `read` with the file of a segment, which stays open for later reads. */
  async use<Result>(number: number, read: (file: DiskFile) => Promise<Result>): Promise<Result> {
    const known = this.#open.get(number);
    const file = known ?? { opened: this.#disk.open(this.path(number), "read"), reads: 0, isDropped: false };
    this.#open.delete(number);
    this.#open.set(number, file);
    file.reads += 1;
    try {
      return await read(await file.opened);
    } catch (error) {
      await this.#drop(number, file);
      throw error;
    } finally {
      file.reads -= 1;
      if (file.isDropped) await closeUnread(file);
      const [oldest] = this.#open;
      if (this.#open.size > mostOpen && oldest !== undefined) await this.#drop(...oldest);
    }
  }

  /** The bytes of buffered events, in the order of `places`; `take` takes one of what was read. */
  async entries(
    places: readonly Location[],
    take: (data: Buffer, at: number, length: number, place: Location) => Buffer,
  ): Promise<Buffer[]> {
    const found = Array.from<Buffer>({ length: places.length });
    const groups = groupsOf(places);
    const next = groups[Symbol.iterator]();
    const work = async (): Promise<void> => {
      for (const { segment, start, end, indexes } of next) {
        const data = Buffer.allocUnsafe(end - start);
        const read = await this.use(segment, (file) => readAll(file, data, start));
        for (const index of indexes) {
          const place = places[index]!;
          found[index] = take(data.subarray(0, read), place.offset - start, place.length, place);
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(parallel, groups.length) }, work));
    return found;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map(([number, file]) => this.#drop(number, file)));
  }

  async #drop(number: number, file: OpenFile | undefined): Promise<void> {
    if (file === undefined) return;
    if (this.#open.get(number) === file) this.#open.delete(number);
    file.isDropped = true;
    await closeUnread(file);
  }
}

/** Closes a file that nobody reads. */
async function closeUnread({ opened, reads }: OpenFile): Promise<void> {
  if (reads === 0) await opened.then((file) => file.close()).catch(() => undefined);
}

/** Whether the folder of a log holds steps. */
export async function holdsSteps(disk: Disk, folder: string): Promise<boolean> {
  const names = await disk.readdir(folder).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code !== "ENOENT" && error.code !== "ENOTDIR") throw storageError(error);
    return [];
  });
  for (const name of names) {
    if (name.endsWith(".new")) continue;
    const file = await disk.open(join(folder, name), "read");
    try {
      if ((await file.size()) > segmentHeadLength) return true;
    } finally {
      await file.close();
    }
  }
  return false;
}

interface Group {
  segment: number;
  start: number;
  end: number;
  /** Of the places that it covers. */
  indexes: number[];
}

/** The places in groups that are read at once. */
function groupsOf(places: readonly Location[]): Group[] {
  const order = places
    .map((_place, index) => index)
    .toSorted((one, other) => {
      const [a, b] = [places[one]!, places[other]!];
      return a.segment - b.segment || a.offset - b.offset;
    });
  const groups: Group[] = [];
  for (const index of order) {
    const { segment, offset, length } = places[index]!;
    const end = offset + entryPrefix + length;
    const last = groups.at(-1);
    const isNear = last?.segment === segment && offset - last.end <= gap && end - last.start <= together;
    if (last === undefined || !isNear) groups.push({ segment, start: offset, end, indexes: [index] });
    else {
      last.end = Math.max(last.end, end);
      last.indexes.push(index);
    }
  }
  return groups;
}

/** Fills `target` from `position` on; resolves with how much was there. */
export async function readAll(file: DiskFile, target: Buffer, position: number): Promise<number> {
  let read = 0;
  while (read < target.length) {
    const count = await file.read(target.subarray(read), position + read);
    if (count === 0) break;
    read += count;
  }
  return read;
}
