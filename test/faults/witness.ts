/**
 * What a daemon says of its batches, from outside: the tokens that each of them was prepared with. One line for each
 * record, in the file that `PREPARED_BATCHES` names; nothing where it names none.
 */
import { appendFileSync } from "node:fs";
import type { BatchRecord } from "../../engine/core/journal.ts";

export type PreparedBatch = Pick<BatchRecord, "pipeline_id" | "batch" | "token" | "rows">;

const file = process.env["PREPARED_BATCHES"];

export function notePrepared({ pipeline_id, batch, token, rows }: BatchRecord): void {
  if (file === undefined || rows === 0) return;
  const line: PreparedBatch = { pipeline_id, batch, token, rows };
  appendFileSync(file, `${JSON.stringify(line)}\n`);
}
