import { beforeEach, expect, test } from "vitest";
import type { Disk, DiskFile } from "../../../engine/core/disk.ts";
import { LogFiles } from "../../../engine/join/log-files.ts";

let open: number;
let closedWhileRead: number;
/** All reads begin and wait for this. */
let end: () => void;
let ended: Promise<void>;

beforeEach(() => {
  [open, closedWhileRead] = [0, 0];
  ended = new Promise((resolve) => (end = resolve));
});

const openFile = (): DiskFile => {
  let reads = 0;
  open += 1;
  const file: Partial<DiskFile> = {
    async read() {
      reads += 1;
      await ended;
      reads -= 1;
      return 0;
    },
    async close() {
      open -= 1;
      if (reads > 0) closedWhileRead += 1;
    },
  };
  return file as DiskFile;
};

const nothing = (): Promise<void> => Promise.resolve();
const disk = { open: async () => openFile(), rm: nothing, syncFolder: nothing } as Partial<Disk> as Disk;

const readOf = (files: LogFiles, number: number): Promise<number> =>
  files.use(number, (file) => file.read(Buffer.alloc(1), 0));

test("a file that is read is not closed for the sake of others", async () => {
  const files = new LogFiles(disk, "/log");
  const slow = readOf(files, 0);
  const quick = Array.from({ length: 99 }, (_, number) => files.use(number + 1, () => Promise.resolve()));
  await Promise.all(quick);
  end();
  await slow;
  expect({ closedWhileRead, open }).toEqual({ closedWhileRead: 0, open: 64 });
  await files.close();
  expect(open).toBe(0);
});

test("of a file that is read twice, a read that fails, a removal and an end disturb no other read", async () => {
  const files = new LogFiles(disk, "/log");
  const slow = readOf(files, 1);
  await expect(files.use(1, () => Promise.reject(new Error("EIO")))).rejects.toThrow("EIO");
  const again = readOf(files, 1);
  await files.remove(1);
  const other = readOf(files, 2);
  await files.close();
  end();
  await Promise.all([slow, again, other]);
  expect({ closedWhileRead, open }).toEqual({ closedWhileRead: 0, open: 0 });
});
