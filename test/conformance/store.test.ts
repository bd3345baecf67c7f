import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Store } from "../../engine/state/store.ts";
import { SimulatedStore, SimulatedStoreFile } from "../support/simulation/store.ts";
import { storeSuite } from "./store.ts";

/** More than the disk of any test has. */
const tooMuch = 2 ** 50;

// No call of the system makes reads and writes of one file fail: such errors are for the simulated one alone.
storeSuite("LMDB", ["DISK_FULL"], async () => {
  const folder = await mkdtemp(join(tmpdir(), "sluice-store-"));
  return {
    open: () => Store.open(folder),
    failures: [{ code: "DISK_FULL", arrange: () => undefined, bytes: tooMuch }],
    clean: () => rm(folder, { recursive: true, force: true }),
  };
});

storeSuite("simulated", ["DISK_FULL", "STORAGE_UNAVAILABLE"], () => {
  const file = new SimulatedStoreFile();
  return Promise.resolve({
    open: () => new SimulatedStore(file, (n) => n - 1),
    failures: [
      { code: "DISK_FULL", arrange: () => file.troubles.push("ENOSPC"), bytes: 0 },
      { code: "STORAGE_UNAVAILABLE", arrange: () => file.troubles.push("EIO"), bytes: 0 },
    ],
    clean: () => Promise.resolve(),
  });
});
