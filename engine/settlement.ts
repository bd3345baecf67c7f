import { EngineError } from "./core/errors.ts";
import type { BatchRecord, Journal } from "./core/journal.ts";
import type { Answer, Block, Failure } from "./core/sink.ts";
import type { Assembly, Line } from "./line.ts";
import type { Telemetry } from "./telemetry/telemetry.ts";
import type { WaitingRoom } from "./waiting-room.ts";

/** Thrown where a pipeline leaves its work to a later start. What is prepared stays in the journal. */
export class LeftForLater extends Error {}

/** What settling needs of its pipeline. */
export interface Settling {
  pipeline_id: string;
  journal: Journal;
  telemetry: Telemetry;
  room: WaitingRoom;
  /** Aborts when the pipeline leaves at once. */
  leave: AbortSignal;
  /** Aborts when the pipeline drains, or leaves: from then on no pause is waited for. */
  drain: AbortSignal;
}

/** A batch on its way: its record, the events that it was made of, and its rows as they are sent. */
export interface Underway {
  record: BatchRecord;
  assembly: Assembly;
  block: Block;
  /** It was prepared by an earlier start, which may have sent it. */
  isReplay: boolean;
}

/** A refused row is excluded alone unless this many were refused before this line ever wrote one. */
const refusalsBeforeAnyRow = 10;

/**
 * Carries prepared batches to the table (delivery, sections 2 to 4): insert with the batch's token until the server
 * says OK, then commit, in the order of the batches.
 *
 * What was heard decides what a later start may do, so it is synced: `refused` before waiting, and taken back before
 * the next send; `written` when a batch has to wait for its turn.
 */
export class Settlement {
  readonly #with: Settling;
  readonly #line: Line;
  #hasWritten = false;

  constructor(line: Line, settling: Settling) {
    this.#line = line;
    this.#with = settling;
  }

  /** Sends until everything of the batch that can be written is. Returns the record as it is then. Throws LeftForLater. */
  async write(underway: Underway): Promise<BatchRecord> {
    let { record, block } = await this.#rejectLate(underway.record, underway.block);
    const whole = record;
    let maySitThere = underway.isReplay && record.heard === "nothing";
    for (let failures = 0; record.rows > 0 && record.heard !== "written";) {
      if (record.heard === "refused") record = await this.prepare({ ...record, heard: "nothing" });
      if (maySitThere) this.#with.telemetry.insertRepeated({ pipeline_id: record.pipeline_id, batch: record.batch });
      const answer = await this.#line.sink.insert(block, record.token, this.#with.leave);
      if (answer.kind === "ok") break;
      this.#leaveIfAborted();
      if (answer.kind === "unknown") maySitThere = true;
      const excluded = this.#exclude(record, underway.assembly, block, answer);
      if (excluded === undefined) {
        failures += 1;
        // Where rows are refused and none can be taken out, the table is wrong: those taken out before go in again.
        const next = answer.failure.class === "row" ? whole : record;
        record = await this.#waitAfter(answer, next, failures, maySitThere);
        await this.#reopen(failures);
      } else {
        record = await this.prepare(excluded);
      }
      ({ record, block } = await this.#rejectLate(record, underway.assembly.encode(settledPositions(record))));
    }
    this.#hasWritten ||= record.rows > 0;
    this.#with.room.leave();
    return record;
  }

  /** After a failure the target is looked at again, as it may be another one now: its columns decide how rows are written. */
  async #reopen(failures: number): Promise<void> {
    for (let attempt = failures; ; attempt += 1) {
      const opened = await this.#line.sink.open(this.#with.leave);
      this.#leaveIfAborted();
      if (opened.kind === "ok") return;
      await this.#wait(opened.failure, attempt);
    }
  }

  /** A later send may meet a table that was altered since: what no longer fits its columns becomes a letter, not a loss. */
  async #rejectLate(record: BatchRecord, block: Block): Promise<{ record: BatchRecord; block: Block }> {
    const known = new Set(settledPositions(record));
    const late = block.rejected.filter(({ position }) => !known.has(position));
    if (late.length === 0) return { record, block };
    const rejections = [...record.rejections, ...late];
    return { record: await this.prepare({ ...record, rejections, rows: block.events.length }), block };
  }

  /** Makes a record durable, waiting for room on the disk. */
  async prepare(record: BatchRecord): Promise<BatchRecord> {
    await this.#durably(() => this.#with.journal.prepare(record));
    return record;
  }

  /** Makes the batch's positions final and its letters visible. */
  async commit(record: BatchRecord): Promise<void> {
    await this.#durably(() => this.#with.journal.commit(record));
  }

  /** A batch that is written while an earlier one is not: it must never be sent again. */
  async noteWritten(record: BatchRecord): Promise<void> {
    await this.prepare({ ...record, heard: "written" });
  }

  async #waitAfter(
    answer: Exclude<Answer, { kind: "ok" }>,
    record: BatchRecord,
    attempt: number,
    maySitThere: boolean,
  ): Promise<BatchRecord> {
    const { failure } = answer;
    const { pipeline_id, telemetry } = this.#with;
    telemetry.insertFailed({ pipeline_id, rows: record.rows, failure, unknown: answer.kind === "unknown" });
    // A refusal says nothing about an earlier send that may have written.
    const heard = answer.kind === "refused" && !maySitThere ? "refused" : "nothing";
    const noted = await this.prepare({ ...record, heard });
    await this.#wait(failure, attempt);
    return noted;
  }

  /** The record without the row that the server named; undefined where it named none, or where no row fits. */
  #exclude(
    record: BatchRecord,
    assembly: Assembly,
    block: Block,
    answer: Exclude<Answer, { kind: "ok" }>,
  ): BatchRecord | undefined {
    const { failure } = answer;
    if (failure.class !== "row" || failure.row === undefined) return undefined;
    const event = block.events[failure.row];
    if (event === undefined) return undefined;
    if (!this.#hasWritten && record.excluded.length >= refusalsBeforeAnyRow) return undefined;
    const rejection = assembly.withSource({
      component: "sink",
      reason: `sink_rejection_${failure.name}`,
      error: failure.text,
      original_message: event.text,
      position: event.position,
    });
    return {
      ...record,
      rows: record.rows - 1,
      excluded: [...record.excluded, event.position],
      rejections: [...record.rejections, rejection],
      heard: "nothing",
    };
  }

  async #durably(write: () => Promise<void>): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await write();
        return;
      } catch (error) {
        if (!(error instanceof EngineError) || error.code !== "DISK_FULL") throw error;
        await this.#wait({ class: "disk", text: error.message }, attempt);
      }
    }
  }

  async #wait(failure: { class: Failure["class"] | "disk"; text: string }, attempt: number): Promise<void> {
    const { room, leave, drain } = this.#with;
    const isDraining = drain.aborted;
    if (isDraining && room.isPause(failure, attempt)) throw new LeftForLater(failure.text);
    await room.wait(failure, attempt, isDraining ? leave : drain);
    this.#leaveIfAborted();
  }

  #leaveIfAborted(): void {
    if (this.#with.leave.aborted) throw new LeftForLater("the pipeline leaves");
  }
}

/** Positions of the batch that are letters already and must not become rows. */
export function settledPositions({ excluded, rejections }: BatchRecord): number[] {
  return [...excluded, ...rejections.map(({ position }) => position)];
}
