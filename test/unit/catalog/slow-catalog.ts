import type { Catalog, CatalogEntry } from "../../../engine/catalog/catalog.ts";
import type { Recorder } from "../../../engine/telemetry/recorder.ts";

const moment = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A catalog that takes a moment, as a disk does. */
export function slowCatalog(): { kept: Map<string, CatalogEntry>; catalog: Catalog } {
  const kept = new Map<string, CatalogEntry>();
  const catalog = {
    list: () => [...kept.values()],
    put: (entry: CatalogEntry) => moment().then(() => void kept.set(entry.pipeline_id, entry)),
    remove: (id: string) => moment().then(() => void kept.delete(id)),
  } as unknown as Catalog;
  return { kept, catalog };
}

export const silentRecorder = { statusChanged: () => undefined } as unknown as Recorder;
