import { lastWritten, type BatchRecord, type LastWritten } from "../core/journal.ts";
import type { Answer, Block, Probe, Reading, Sink } from "../core/sink.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { Pauses } from "./pauses.ts";

interface TargetOptions {
  pipeline_id: string;
  telemetry: Telemetry;
  pauses: Pauses;
  /** The last write of the pipeline, by its journal. */
  written: LastWritten | undefined;
}

/**
 * The table of a pipeline, through the sink of a batch's revision. A missing answer is shown as a pause; a request that
 * must succeed is repeated until it does.
 */
export class Target {
  readonly #options: TargetOptions;
  #written: LastWritten | undefined;
  /** Why a repeat is not recognised, by the last report; null before the first report. */
  #atLeastOnce: string | undefined | null = null;
  /** What settings may change rows, by the last report; null before the first report. */
  #profileRemark: string | undefined | null = null;
  /** How many tables each sink was reported to have created. */
  readonly #created = new WeakMap<Sink, number>();

  constructor(options: TargetOptions) {
    this.#options = options;
    this.#written = options.written;
  }

  /** Reads the table now, however long that takes. Throws LeftForLater. */
  async read(sink: Sink): Promise<Reading> {
    const { pauses } = this.#options;
    for (let attempt = 1; ; attempt += 1) {
      const answer = await pauses.answerOf("a query of the table's state", sink.read(true, pauses.leave));
      pauses.leaveIfAborted();
      if (answer.kind === "read") {
        this.#report(sink);
        return answer.reading;
      }
      await pauses.wait(answer.failure, attempt, sink);
    }
  }

  /** Opens the table once. Throws LeftForLater. */
  async open(sink: Sink): Promise<Answer> {
    const { pauses } = this.#options;
    const opened = await pauses.answerOf("the queries that check the table before inserts", sink.open(pauses.leave));
    pauses.leaveIfAborted();
    return opened;
  }

  /** Opens the table again, since it may be another one now, until that succeeds. Throws LeftForLater. */
  async reopen(sink: Sink, failures: number): Promise<void> {
    for (let attempt = failures; ; attempt += 1) {
      const opened = await this.open(sink);
      if (opened.kind === "ok") {
        this.#report(sink);
        return;
      }
      await this.#options.pauses.wait(opened.failure, attempt, sink);
    }
  }

  /** Sends one insert. Throws LeftForLater where it failed and the pipeline leaves. */
  async insert(sink: Sink, block: Block, token: string, ignoreViews: boolean): Promise<Answer> {
    const { pauses } = this.#options;
    // A reading from which a batch was made may have told it: as long as nothing fails, there is no other one.
    this.#reportAtLeastOnce(sink);
    const sent = sink.insert(block, token, pauses.leave, { ignoreViews });
    const answer = await pauses.answerOf(`an insert of ${rowsText(block.events.length)}`, sent);
    if (answer.kind !== "ok") pauses.leaveIfAborted();
    return answer;
  }

  /** Tries rows without writing to the table. */
  probe(sink: Sink, block: Block): Promise<Probe> {
    const { pauses } = this.#options;
    return pauses.answerOf("the search for bad rows", sink.probe(block, pauses.leave));
  }

  /** Whether the table takes any row at all, tried without writing to it. */
  takesAny(sink: Sink): ReturnType<Sink["takesAny"]> {
    const { pauses } = this.#options;
    return pauses.answerOf("the search for a value that the table takes", sink.takesAny(pauses.leave));
  }

  #reportCreated(sink: Sink): void {
    const { pipeline_id, telemetry } = this.#options;
    const count = (sink.created ?? 0) - (this.#created.get(sink) ?? 0);
    if (count === 0) return;
    this.#created.set(sink, sink.created!);
    telemetry.tablesCreated({ pipeline_id, count });
  }

  /** A batch was written. */
  noteWritten(record: BatchRecord): void {
    this.#written = lastWritten(record) ?? this.#written;
  }

  /** Whether a revision has written to the table since that was last created or altered. */
  hasWritten(revision: number, { table, altered, description }: Reading): boolean {
    const last = this.#written;
    if (last === undefined || last.revision !== revision || last.table !== table) return false;
    return last.description === description || (altered > 0 && last.time > altered);
  }

  #report(sink: Sink): void {
    this.#reportCreated(sink);
    this.#reportAtLeastOnce(sink);
    this.#reportProfile(sink);
  }

  #reportProfile({ profileRemark: remark }: Sink): void {
    if (remark === this.#profileRemark) return;
    this.#profileRemark = remark;
    const { pipeline_id, telemetry } = this.#options;
    telemetry.profileRemark({ pipeline_id, ...(remark !== undefined && { remark }) });
  }

  #reportAtLeastOnce(sink: Sink): void {
    const { atLeastOnce: reason } = sink;
    if (reason === this.#atLeastOnce) return;
    this.#atLeastOnce = reason;
    const { pipeline_id, telemetry } = this.#options;
    telemetry.atLeastOnce({ pipeline_id, ...(reason !== undefined && { reason }) });
  }
}

/** `1 row`, `2 rows`. */
export function rowsText(rows: number): string {
  return `${rows} ${rows === 1 ? "row" : "rows"}`;
}
