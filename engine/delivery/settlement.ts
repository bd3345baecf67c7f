import type { EngineOptions } from "../../schemas/pipeline.ts";
import { LeftForLater } from "../core/errors.ts";
import { lastWritten, type BatchRecord, type Journal, type LastWritten } from "../core/journal.ts";
import type { Answer, Reading, Sink } from "../core/sink.ts";
import type { Source } from "../core/source.ts";
import { isPassing } from "../state/storage-error.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { RetryPause } from "../flow/retry-pause.ts";
import type { Waited } from "../core/pause.ts";

/** The options that hold for batches under way. */
export type SendOptions = Pick<EngineOptions, "on_uncertain" | "on_lost" | "on_view_error">;

/** What settling needs of its pipeline. */
export interface SettlementOptions {
  pipeline_id: string;
  options: SendOptions;
  journal: Journal;
  telemetry: Telemetry;
  source: Pick<Source, "mayWrite">;
  room: RetryPause;
  /** The server had too little memory for a batch. */
  onTooLarge(): void;
  /** Aborts when the pipeline leaves at once. */
  leave: AbortSignal;
  /** Aborts when the pipeline drains, or leaves: from then on no pause is waited for. */
  drain: AbortSignal;
}

/**
 * What all batches of a pipeline share on their way: writes to the journal that wait for room on the disk, pauses, and
 * what the rows of this pipeline last went into.
 */
export class Settlement {
  readonly with: SettlementOptions;
  #written: LastWritten | undefined;
  /** What was said of the target's repeats last; not said yet. */
  #atLeastOnce: string | undefined | null = null;

  constructor(settling: SettlementOptions) {
    this.with = settling;
    this.#written = settling.journal.progress(settling.pipeline_id).written;
  }

  /** Makes a record durable. */
  async prepare(record: BatchRecord): Promise<BatchRecord> {
    await this.#durably(() => this.with.journal.prepare(record));
    return record;
  }

  /** Makes durable what was heard of a pending batch. */
  async amend(record: BatchRecord): Promise<BatchRecord> {
    await this.#durably(() => this.with.journal.amend(record));
    return record;
  }

  /** Makes the batch's positions and keys final and its letters visible; prepares `aside` in the same write. */
  async commit(record: BatchRecord, aside?: BatchRecord): Promise<void> {
    await this.#durably(() => this.with.journal.commit(record, aside));
  }

  /** A batch of this revision went into a table. */
  noteWritten(record: BatchRecord): void {
    this.#written = lastWritten(record) ?? this.#written;
  }

  /** Whether this revision has written to the table since it was last created or altered. */
  hasWritten(revision: number, { table, altered, description }: Reading): boolean {
    const last = this.#written;
    if (last === undefined || last.revision !== revision || last.table !== table) return false;
    return last.description === description || (altered > 0 && last.time > altered);
  }

  /** Reads the target now, however long that takes. */
  async read(sink: Sink): Promise<Reading> {
    for (let attempt = 1; ; attempt += 1) {
      const answer = await this.with.room.answerOf("a look at the table", sink.read(true, this.with.leave));
      this.leaveIfAborted();
      if (answer.kind === "read") return answer.reading;
      await this.wait(answer.failure, attempt, sink);
    }
  }

  /** Opens the target anew, since it may be another one now. */
  async reopen(sink: Sink, failures: number): Promise<void> {
    for (let attempt = failures; ; attempt += 1) {
      const opened = await this.open(sink);
      if (opened.kind === "ok") {
        this.#tellWhetherOnce(sink);
        return;
      }
      await this.wait(opened.failure, attempt, sink);
    }
  }

  /** Opens the target once. */
  async open(sink: Sink): Promise<Answer> {
    const opened = await this.with.room.answerOf("the questions that come before inserts", sink.open(this.with.leave));
    this.leaveIfAborted();
    return opened;
  }

  #tellWhetherOnce({ atLeastOnce: reason }: Sink): void {
    if (reason === this.#atLeastOnce) return;
    this.#atLeastOnce = reason;
    const { pipeline_id, telemetry } = this.with;
    telemetry.atLeastOnce({ pipeline_id, ...(reason === undefined ? {} : { reason }) });
  }

  /**
   * Waits before attempt number `attempt` + 1; what fails of the network, until `sink` is reachable again. Throws
   * LeftForLater where a drain would wait for a pause.
   */
  async wait(failure: Waited, attempt: number, sink?: Sink): Promise<void> {
    const { room, leave, drain } = this.with;
    const isDraining = drain.aborted;
    if (isDraining && room.isPause(failure, attempt)) throw new LeftForLater(failure.text);
    const isReachable = sink && ((signal: AbortSignal) => sink.isReachable(signal));
    await room.wait(failure, attempt, isDraining ? leave : drain, isReachable);
    this.leaveIfAborted();
  }

  leaveIfAborted(): void {
    if (this.with.leave.aborted) throw new LeftForLater("the pipeline leaves");
  }

  async #durably(write: () => Promise<void>): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await write();
        return;
      } catch (error) {
        if (!isPassing(error)) throw error;
        await this.wait({ class: "disk", text: error.message }, attempt);
      }
    }
  }
}
