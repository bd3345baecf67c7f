import { randomBytes } from "node:crypto";
import type { BatchRecord } from "./core/journal.ts";
import type { Reading, Sink } from "./core/sink.ts";
import type { Settlement } from "./settlement.ts";
import { isInsideWindow } from "./window.ts";

type Choice = "insert" | "skip" | "pause";

/**
 * What becomes of a batch that may be in the table: it is sent with its token, with a fresh one, counts as settled, or
 * has to be made again by the current revision.
 */
export interface Verdict {
  kind: "with its token" | "with a fresh token" | "settled" | "again";
  record: BatchRecord;
}

/**
 * Decides, before every repeat of a batch, whether the target still recognises it, and what the options say where it may
 * not (delivery, the insert: uncertain). One object for each batch on its way.
 */
export class Clearance {
  readonly #sink: Sink;
  readonly #settlement: Settlement;
  /** The batch's line is that of an earlier revision, which makes nothing new. */
  readonly #isEarlier: boolean;
  #isTold = false;

  constructor(sink: Sink, settlement: Settlement, isEarlier: boolean) {
    this.#sink = sink;
    this.#settlement = settlement;
    this.#isEarlier = isEarlier;
  }

  /** Whether a batch that was sent before may be sent again. Waits where the options say so. Throws LeftForLater. */
  async ofRepeat(record: BatchRecord): Promise<Verdict> {
    for (let attempt = 1; ; attempt += 1) {
      const reading = await this.#settlement.read(this.#sink);
      if (isInsideWindow(record.target!, reading)) {
        this.#settlement.with.telemetry.insertRepeated(namesOf(record));
        return { kind: "with its token", record };
      }
      const choice = this.#choice(record);
      this.#tell(record, choice);
      if (choice === "skip") return { kind: "settled", record };
      if (choice === "insert") return this.#fresh(record, reading);
      const kind = record.heard === "view" ? "view" : "uncertain";
      await this.#settlement.wait({ class: kind, text: outsideText(record) }, attempt);
    }
  }

  /**
   * Whether a repeat that the server took for written is there at all; undefined if so, or if nobody can tell. A server
   * that dies within an insert may keep the token without the rows (seen with MergeTree). Where its block numbers are
   * those of before the first send, nothing of the batch is there, and a fresh token doubles nothing.
   */
  async ofAnswered(record: BatchRecord): Promise<Verdict | undefined> {
    const { target } = record;
    if (target?.blocks === undefined) return undefined;
    const reading = await this.#settlement.read(this.#sink);
    if (reading.table !== target.table || reading.blocks !== target.blocks) return undefined;
    this.#settlement.with.telemetry.tokenAlone(namesOf(record));
    return this.#fresh(record, reading);
  }

  /** A batch that a view broke is in the table: it is never sent again, whatever `on_uncertain` says. */
  #choice({ heard }: BatchRecord): Choice {
    const { on_uncertain, on_view_error } = this.#settlement.with.options;
    return heard === "view" ? on_view_error : on_uncertain;
  }

  /** Once, however often it is looked at. */
  #tell(record: BatchRecord, choice: Choice): void {
    const { telemetry } = this.#settlement.with;
    if (record.heard === "view") {
      if (choice === "skip") telemetry.viewErrorIgnored(namesOf(record));
    } else if (!this.#isTold) {
      this.#isTold = true;
      telemetry.batchUncertain({ ...namesOf(record), choice });
    }
  }

  async #fresh(record: BatchRecord, target: Reading): Promise<Verdict> {
    if (this.#isEarlier) return { kind: "again", record };
    const token = randomBytes(16).toString("hex");
    const fresh = await this.#settlement.prepare({ ...record, token, target, heard: "nothing" });
    return { kind: "with a fresh token", record: fresh };
  }
}

function outsideText({ batch, rows, heard }: BatchRecord): string {
  const what = `batch ${batch} of ${rows} rows`;
  return heard === "view"
    ? `${what} is in the table, but a materialized view behind it failed, and so long ago that a repeat could double it; set x-sluice.on_view_error: skip to leave the view without these rows`
    : `nobody knows whether ${what} was written, and the table may no longer recognise a repeat; set x-sluice.on_uncertain to insert or skip`;
}

/** What telemetry calls a batch. */
export function namesOf({ pipeline_id, batch, rows }: BatchRecord): {
  pipeline_id: string;
  batch: number;
  rows: number;
} {
  return { pipeline_id, batch, rows };
}
