import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Registry } from "prom-client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { closeStores, openStores } from "../../../engine/stores.ts";
import { systemDisk } from "../../../engine/system/disk.ts";
import { keptLog, tableOfSecrets } from "../../support/engine.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-folders-"));
});

afterEach(async () => {
  vi.restoreAllMocks();
  await rm(folder, { recursive: true, force: true });
});

test("folders that an engine makes are synced in the ones above them, and so are the files of its store", async () => {
  const synced = vi.spyOn(systemDisk, "syncFolder");
  const dataDir = join(folder, "new", "data");
  const settings = { dataDir, log: keptLog(), registry: new Registry(), secrets: tableOfSecrets() };
  const parts = await openStores(settings);
  await parts.streams.keepOnly(new Set(), new Set());
  await closeStores(parts);
  const paths = new Set(synced.mock.calls.map(([path]) => path));
  for (const path of [folder, join(folder, "new"), dataDir, join(dataDir, "state")]) expect(paths).toContain(path);
});
