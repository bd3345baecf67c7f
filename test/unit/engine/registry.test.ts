import { expect, test } from "vitest";
import { PipelineRegistry } from "../../../engine/catalog/registry.ts";
import type { Catalog, CatalogEntry } from "../../../engine/catalog/catalog.ts";
import type { Recorder } from "../../../engine/telemetry/recorder.ts";
import { view } from "../../integration/api/sample.ts";

const moment = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A catalog that takes a moment, as a disk does. */
function slowCatalog() {
  const kept = new Map<string, CatalogEntry>();
  const catalog = {
    list: () => [...kept.values()],
    put: (entry: CatalogEntry) => moment().then(() => void kept.set(entry.pipeline_id, entry)),
    remove: (id: string) => moment().then(() => void kept.delete(id)),
  } as unknown as Catalog;
  return { kept, catalog };
}

test("changes of a pipeline at the same time undo nothing of each other", async () => {
  const { kept, catalog } = slowCatalog();
  const registry = new PipelineRegistry(catalog, { statusChanged: () => undefined } as unknown as Recorder);
  await registry.add(view({ status: "Created" }));
  await Promise.all([registry.change("orders", "Running"), registry.save("orders", { revision: 2 })]);
  expect([registry.get("orders"), kept.get("orders")]).toMatchObject([
    { status: "Running", revision: 2 },
    { status: "Running", revision: 2 },
  ]);
  const removed = registry.remove("orders", () => undefined);
  await expect(registry.save("orders", { revision: 3 })).rejects.toThrow("there is no pipeline orders");
  await removed;
  expect(kept.size).toBe(0);
});
