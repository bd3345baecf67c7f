import { expect, test } from "vitest";
import { PipelineRegistry } from "../../../engine/catalog/registry.ts";
import { silentRecorder, slowCatalog } from "./slow-catalog.ts";
import { view } from "../../integration/api/sample.ts";

test("changes of a pipeline at the same time undo nothing of each other", async () => {
  const { kept, catalog } = slowCatalog();
  const registry = new PipelineRegistry(catalog, silentRecorder);
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
