import { randomBytes } from "node:crypto";
import type { TableStore } from "../core/store.ts";

/** The runs of a data dir: the process that holds it now, and those before. */
export interface Runs {
  /** Eight hexadecimal digits. */
  run: string;
  earlier: ReadonlySet<string>;
}

/**
 * Draws the id of a run and stores it before it is used. Earlier ids are kept for good: they distinguish what this data
 * dir has written to Kafka groups from the writes of a copy of it, or of another one.
 */
export async function drawRun(store: TableStore): Promise<Runs> {
  const runs = store.table<string, string>("runs");
  const earlier = new Set(runs.getKeys());
  const run = randomBytes(4).toString("hex");
  await store.write(() => runs.putSync(run, new Date().toISOString()));
  return { run, earlier };
}
