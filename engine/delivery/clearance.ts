import { randomBytes } from "node:crypto";
import type { BatchRecord } from "../core/journal.ts";
import type { Reading, Sink } from "../core/sink.ts";
import type { Settlement } from "./settlement.ts";

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
  /** The target before the last repeat. */
  #before: Reading | undefined;

  constructor(sink: Sink, settlement: Settlement, isEarlier: boolean) {
    this.#sink = sink;
    this.#settlement = settlement;
    this.#isEarlier = isEarlier;
  }

  /** Whether a batch that was sent before may be sent again. Waits where the options say so. Throws LeftForLater. */
  async ofRepeat(record: BatchRecord): Promise<Verdict> {
    for (let attempt = 1; ; attempt += 1) {
      const reading = await this.#settlement.read(this.#sink);
      const standing = standingNow(record, reading);
      if (standing === "recognised") {
        this.#before = reading;
        this.#settlement.with.telemetry.insertRepeated(namesOf(record));
        return { kind: "with its token", record };
      }
      if (standing === "absent") return this.#anew(record, reading);
      const verdict = await this.#decide(record, reading, attempt);
      if (verdict !== undefined) return verdict;
    }
  }

  /**
   * Whether a repeat that the server took for written is there at all; undefined if so, or if nothing speaks against it.
   * A server that dies within an insert may keep the token without the rows (seen with MergeTree). Where its block numbers
   * are those of before the first send, nothing of the batch is there, and a fresh token doubles nothing. A replicated
   * table is believed: another server may answer, which does not have all parts yet.
   */
  async ofAnswered(record: BatchRecord): Promise<Verdict | undefined> {
    const { target } = record;
    if (target === undefined) return undefined;
    for (let attempt = 1; ; attempt += 1) {
      const reading = await this.#settlement.read(this.#sink);
      if (reading.isReplicated === true || reading.table !== target.table) return undefined;
      if (reading.blocks !== undefined && reading.blocks === target.blocks) return this.#anew(record, reading);
      if (!hasRestarted(this.#before ?? target, reading)) return undefined;
      const verdict = await this.#decide(record, reading, attempt);
      if (verdict !== undefined) return verdict;
    }
  }

  /** What the options say of a batch that nobody can tell of; undefined after a wait. */
  async #decide(record: BatchRecord, reading: Reading, attempt: number): Promise<Verdict | undefined> {
    const choice = this.#choice(record);
    this.#tell(record, choice);
    if (choice === "skip") return { kind: "settled", record };
    if (choice === "insert") return this.#fresh(record, reading);
    const kind = record.heard === "view" ? "view" : "uncertain";
    await this.#settlement.wait({ class: kind, text: uncertainText(record) }, attempt);
    return undefined;
  }

  /** Nothing of it is in the table. */
  #anew(record: BatchRecord, reading: Reading): Promise<Verdict> {
    this.#settlement.with.telemetry.tokenWithoutRows(namesOf(record));
    return this.#fresh(record, reading);
  }

  /** A batch that a view broke is in the table: it is never sent again, whatever `on_uncertain` says. */
  #choice({ heard }: BatchRecord): Choice {
    const { on_uncertain, on_view_error } = this.#settlement.with.options;
    return heard === "view" ? on_view_error : on_uncertain;
  }

  /** Once for each token, however often it is looked at. */
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
    // Should its answer be lost as well, its rows may be there once more.
    this.#isTold = false;
    return { kind: "with a fresh token", record: fresh };
  }
}

/** Of a batch that a view broke the table holds the rows for sure: the server said so, and had noted its token with them. */
function standingNow({ heard, target }: BatchRecord, now: Reading): ReturnType<typeof standingOf> {
  if (heard !== "view") return standingOf(target!, now);
  return isInsideWindow(target!, now) ? "recognised" : "uncertain";
}

function uncertainText({ batch, rows, heard }: BatchRecord): string {
  const what = `batch ${batch} of ${rows} rows`;
  return heard === "view"
    ? `${what} is in the table, but a materialized view behind it failed, and so long ago that a repeat could double it; set x-sluice.on_view_error: skip to leave the view without these rows`
    : `it is not known whether ${what} was written, and the table may no longer recognise a repeat, or its server was started anew and may recognise one that it does not hold; set x-sluice.on_uncertain to insert or skip`;
}

/** What telemetry calls a batch. */
export function namesOf({ pipeline_id, batch, rows }: BatchRecord): {
  pipeline_id: string;
  batch: number;
  rows: number;
} {
  return { pipeline_id, batch, rows };
}

/** How long a target that does not tell its block numbers is trusted to recognise a repeat, in milliseconds. */
const trustedBlindly = 60_000;

/**
 * Whether the target still recognises a repeat of what may have been sent after `then` (delivery, the insert): it is the
 * same table, and since then less than half of its window has passed, in seconds by the server's clock and in inserts by
 * the table's block numbers, whoever wrote them. The other half is for what comes between this look and the send.
 */
export function isInsideWindow(then: Reading, now: Reading): boolean {
  if (then.table !== now.table) return false;
  const elapsed = now.time - then.time;
  const seconds = Math.min(then.window.seconds, now.window.seconds);
  const entries = Math.min(then.window.entries, now.window.entries);
  if (entries === 0 || elapsed >= (seconds * 1000) / 2) return false;
  const grown = then.blocks === undefined || now.blocks === undefined ? -1 : now.blocks - then.blocks;
  // Fewer blocks than before: parts were dropped, and the numbers tell nothing.
  return grown < 0 ? elapsed < trustedBlindly : grown < entries / 2;
}

/** How far two clocks may run apart: one in a thousand, which is more than any clock is corrected by. */
const drift = 1 / 1000;

/**
 * Whether the server was started after `then` was read, so that it may have kept the token of an insert without its rows
 * (delivery, the insert: uncertain). A server that had run for a second by `then` is told from one that has been started
 * since. Never true of a table whose tokens can be believed.
 */
export function hasRestarted(then: Reading, now: Reading): boolean {
  if (now.isReplicated === true || now.uptime === undefined) return false;
  const before = then.uptime ?? 0;
  const elapsed = Math.max(0, now.time - then.time) / 1000;
  return now.uptime < before || now.uptime <= before + elapsed * (1 - drift) - 1;
}

/**
 * What is known of a batch that may have been sent after `then`.
 *
 * - `recognised`: a repeat with its token writes what is missing, and nothing else.
 * - `absent`: nothing of it is in the table, and whatever was sent ended with the server.
 * - `uncertain`: neither can be told.
 */
export function standingOf(then: Reading, now: Reading): "recognised" | "absent" | "uncertain" {
  if (then.table === now.table && hasRestarted(then, now)) {
    return then.blocks !== undefined && then.blocks === now.blocks ? "absent" : "uncertain";
  }
  return isInsideWindow(then, now) ? "recognised" : "uncertain";
}
