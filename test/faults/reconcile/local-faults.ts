import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Fault } from "./fault.ts";
import type { Scene } from "./scene.ts";

const hour = 3_600_000;

/** What can happen to the machine: the local copy of the repository, its disk, and the clock. */
export const localFaults: readonly Fault[] = [
  {
    name: "locks left in the clone",
    begin: async (scene) => {
      const clone = await scene.clone();
      for (const lock of ["shallow.lock", "config.lock", "index.lock", "packed-refs.lock"])
        await writeFile(join(clone, lock), "");
      return () => undefined;
    },
  },
  { name: "packs overwritten", begin: (scene) => overwrite(scene, join("objects", "pack"), ".pack") },
  { name: "indexes of packs overwritten", begin: (scene) => overwrite(scene, join("objects", "pack"), ".idx") },
  { name: "the clone's HEAD and config overwritten", begin: (scene) => overwrite(scene, ".", "") },
  {
    name: "the clone removed",
    begin: async (scene) => {
      await rm(await scene.clone(), { recursive: true, force: true });
      return () => undefined;
    },
  },
  {
    name: "a file where the clone was",
    begin: async (scene) => {
      const clone = await scene.clone();
      await rm(clone, { recursive: true, force: true });
      await writeFile(clone, "no folder");
      return () => undefined;
    },
  },
  {
    name: "a full disk under the clone",
    told: "DiskFull",
    begin: ({ disk }) => {
      disk.fill(0);
      return () => disk.empty();
    },
  },
  {
    name: "a clone that cannot be written",
    told: "CacheNotWritable",
    begin: ({ disk }) => {
      disk.freeze();
      return () => disk.thaw();
    },
  },
  { name: "the clock an hour ahead", begin: () => shiftClock(hour) },
  { name: "the clock an hour back", begin: () => shiftClock(-hour) },
];

/** Fills the files in a folder of the clone whose names end so with other bytes. */
async function overwrite(scene: Scene, folder: string, end: string): Promise<() => void> {
  const path = join(await scene.clone(), folder);
  const files = (await readdir(path, { withFileTypes: true })).filter((one) => one.isFile() && one.name.endsWith(end));
  for (const { name } of files) await writeFile(join(path, name), Buffer.alloc(4096, 0xa5));
  return () => undefined;
}

/** The wall clock jumps; what measures time that passed does not. */
function shiftClock(by: number): () => void {
  const { now } = Date;
  Date.now = () => now() + by;
  return () => {
    Date.now = now;
  };
}
