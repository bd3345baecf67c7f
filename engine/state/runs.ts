import { randomBytes } from "node:crypto";
import type { TableStore } from "../core/store.ts";

/** The runs of a data dir: the process that holds it now, and those before. */
export interface Runs {
  /** Eight hexadecimal digits. */
  run: string;
  earlier: ReadonlySet<string>;
}

/**
 * Draws the id of a run and notes it, before it is used anywhere. Earlier ones are kept for good: what was said in their
 * name can be distinguished from what a copy of the data dir, or another one, said.
 */
export async function drawRun(store: TableStore): Promise<Runs> {
  const runs = store.table<string, string>("runs");
  const earlier = new Set(runs.getKeys());
  const run = randomBytes(4).toString("hex");
  await store.write(() => runs.putSync(run, new Date().toISOString()));
  return { run, earlier };
}
