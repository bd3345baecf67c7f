import type { Daemon } from "../../examples/quickstart/daemon.ts";
import { Control } from "./control.ts";
import { type Fate, tally } from "./ledger.ts";

/** The ids that are in a pipeline's table and in its dead letters, and how often. */
export async function findAll(daemon: Daemon, pipeline_id: string): Promise<Record<Fate, Map<string, number>>> {
  const control = new Control(daemon);
  const table = pipeline_id.replaceAll("-", "_");
  const rows = await control.query(`SELECT id, count() FROM ${table} GROUP BY id`);
  const letters = await control.letters(pipeline_id);
  return {
    row: new Map(rows.map(([id = "", times]) => [id, Number(times)])),
    letter: tally(letters.map((letter) => (JSON.parse(letter) as { id: string }).id)),
  };
}
