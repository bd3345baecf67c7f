import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { PreparedBatch } from "../witness.ts";

/** What a daemon counts of a pipeline and logs each time, by the names in its health. */
export const counted = ["batches_uncertain", "tokens_without_rows", "inserts_repeated", "batches_replayed"] as const;

export type Counted = (typeof counted)[number];

/** A line of the log that says that a batch may have been written. */
export interface UncertainBatch {
  pipeline_id: string;
  batch: number;
  rows: number;
  choice: string;
}

const sentences: Readonly<Record<string, Counted>> = {
  "Batch may already be in the table, and the table may no longer drop a repeated insert.": "batches_uncertain",
  "The answer to an insert was lost and the table does not hold its rows; the batch is sent with a new token.":
    "tokens_without_rows",
  "Insert is sent again with the same deduplication token.": "inserts_repeated",
  "Pending batch of an earlier run is resumed.": "batches_replayed",
};

/**
 * What daemons said of their batches, over all kills: the lines of their logs, which are written before what they say
 * has an effect, and the tokens that batches were prepared with.
 */
export class BatchNotes {
  readonly uncertain: UncertainBatch[] = [];
  /** By process, by pipeline. */
  readonly #counts: Map<string, Record<Counted, number>>[] = [];
  readonly #file: string;

  constructor(folder: string) {
    this.#file = join(folder, "prepared-batches.jsonl");
  }

  /** For a daemon with a killer inside of it. */
  get env(): Record<string, string> {
    return { PREPARED_BATCHES: this.#file };
  }

  /** For the lines of one more process. */
  listener(): (line: string) => void {
    const counts = new Map<string, Record<Counted, number>>();
    this.#counts.push(counts);
    return (line) => this.#hear(line, counts);
  }

  /** How often it was said of a pipeline, over all processes or in the last one. */
  count(pipeline_id: string, what: Counted, processes: "all" | "last" = "all"): number {
    const counts = processes === "all" ? this.#counts : this.#counts.slice(-1);
    return counts.reduce((sum, process) => sum + (process.get(pipeline_id)?.[what] ?? 0), 0);
  }

  /** Every batch of a pipeline that was prepared, with each of its tokens. */
  async prepared(pipeline_id: string): Promise<PreparedBatch[]> {
    const text = await readFile(this.#file, "utf8");
    const batches = text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as PreparedBatch);
    return batches.filter((batch) => batch.pipeline_id === pipeline_id);
  }

  #hear(line: string, counts: Map<string, Record<Counted, number>>): void {
    if (!line.startsWith("{")) return;
    const { msg, ...said } = JSON.parse(line) as UncertainBatch & { msg: string };
    const what = sentences[msg];
    if (what === undefined) return;
    if (what === "batches_uncertain") this.uncertain.push(said);
    const own = counts.get(said.pipeline_id) ?? countsOfNone();
    own[what] += 1;
    counts.set(said.pipeline_id, own);
  }
}

function countsOfNone(): Record<Counted, number> {
  return { batches_uncertain: 0, tokens_without_rows: 0, inserts_repeated: 0, batches_replayed: 0 };
}
