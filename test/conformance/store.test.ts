import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { Store } from "../../engine/state/store.ts";
import { SimulatedStore, SimulatedStoreFile } from "../support/simulation/store.ts";
import { LoopDisk } from "../support/loop-disk.ts";
import { requireOrSkip } from "../support/require-or-skip.ts";
import { failsOnce, isChecked, storeSuite } from "./store.ts";

/** More than the disk of any test has. */
const tooMuch = 2 ** 50;

storeSuite("LMDB", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sluice-store-"));
  return {
    open: () => Store.open(folder),
    arrangeFull: () => tooMuch,
    clean: () => rm(folder, { recursive: true, force: true }),
  };
});

storeSuite("simulated", () => {
  const file = new SimulatedStoreFile();
  return Promise.resolve({
    open: () => new SimulatedStore(file, (n) => n - 1),
    arrangeFull: () => {
      file.troubles.push("ENOSPC");
      return 0;
    },
    clean: () => Promise.resolve(),
  });
});

const broken = "after the disk has failed it writes nothing, until it is opened again";

const failing = [
  [broken, failsOnce],
  ["a disk that has failed is found out without a write", isChecked],
] as const;

test.for(failing)("LMDB: %s", { tags: ["rest"] }, async ([, suite], { skip }) => {
  requireOrSkip(LoopDisk.obstacle("ext4"), skip);
  const folder = await mkdtemp(join(tmpdir(), "sluice-store-"));
  const disk = LoopDisk.make("ext4", join(folder, "image"), join(folder, "disk"));
  try {
    await suite({
      open: (onBroken = () => undefined) => Store.open(join(disk.folder, "state"), { onBroken }),
      fail: () => disk.fail("read-only"),
      mend: async () => {
        await disk.unmount();
        disk.mount();
      },
      clean: () => Promise.resolve(),
    });
  } finally {
    disk.leave();
    await rm(folder, { recursive: true, force: true });
  }
});

test.for(failing)("simulated: %s", async ([, suite]) => {
  const file = new SimulatedStoreFile();
  await suite({
    open: (onBroken) => new SimulatedStore(file, (n) => n - 1, onBroken),
    fail: () => file.troubles.push("EIO"),
    mend: async () => file.crash((n) => n - 1),
    clean: () => Promise.resolve(),
  });
});
