import { judgeRows, wrongMapping, type BadRow, type ThreadDeaths, type Trouble } from "./bad-rows.ts";
import { Clearance, namesOf, type Verdict } from "./clearance.ts";
import type { Rejection } from "../core/dead-letter.ts";
import { EventList } from "../event/event.ts";
import { deadPositions, mayBeInTable, type BatchRecord } from "../core/journal.ts";
import type { Answer, Block, Failure } from "../core/sink.ts";
import type { CompiledPipeline } from "../batch/compiled-pipeline.ts";
import { LeftForLater } from "../core/errors.ts";
import type { Settlement } from "./settlement.ts";
import type { PreparedBatch } from "./prepared-batch.ts";

/**
 * How the sending of a batch ends: it is settled, or the current revision has to make it again, under its own token
 * because it may be in the table, or as a new one.
 */
export interface SendResult {
  kind: "settled" | "again with its token" | "again";
  record: BatchRecord;
  /** Bytes that were inserted; 0 where nothing was sent. */
  bytes: number;
}

type Refusal = Exclude<Answer, { kind: "ok" }>;

/** Failures that another revision may not meet. */
const mendable = new Set<Failure["class"]>(["setup", "partitions", "row"]);
/** A batch that waits longer than this for its first send has its target read anew, in milliseconds. */
const oldestReading = 30_000;
/** The server has too little memory for the insert. */
const memoryLimit = 241;

/**
 * Carries one prepared batch to the table (delivery, sections 3 and 4): the insert with the batch's token, until the
 * server says OK. What was heard decides what a later start may do, so it is synced: `refused` before waiting, and taken
 * back before the next send.
 */
export class BatchSender {
  readonly #line: CompiledPipeline;
  readonly #settlement: Settlement;
  readonly #prepared: PreparedBatch;
  #record: BatchRecord;
  #block: Block = { events: new EventList(), body: Buffer.alloc(0), rejected: [] };
  /** An answer is missing: its rows may be in the table, all or some of them. */
  #isUncertain: boolean;
  readonly #clearance: Clearance;
  #wasSent = false;
  #failures = 0;
  readonly #suspicion: ThreadDeaths = {};

  constructor(prepared: PreparedBatch, settlement: Settlement) {
    this.#prepared = prepared;
    this.#line = prepared.line;
    this.#settlement = settlement;
    const { record, isReplay, isEarlier = false } = prepared;
    this.#record = record;
    this.#clearance = new Clearance(this.#line.sink, settlement, isEarlier);
    // Before the first send the target is read and noted.
    this.#isUncertain = isReplay && record.heard === "nothing" && mayBeInTable(record);
  }

  /** Sends until everything of the batch that can be written is. Throws LeftForLater. */
  async run(): Promise<SendResult> {
    try {
      return await this.#run();
    } catch (error) {
      // What is left before it was ever sent is in no table: a later start need not wonder.
      const isClear = !this.#wasSent && !this.#isUncertain && this.#record.heard === "nothing";
      if (error instanceof LeftForLater && isClear) await this.#amend({ heard: "refused" });
      throw error;
    }
  }

  async #run(): Promise<SendResult> {
    if (this.#record.heard === "written") return this.#ended("settled");
    await this.#encodeAgain(this.#prepared.block);
    await this.#untilMappingFits();
    while (this.#record.rows > 0) {
      const ending = await this.#clear();
      if (ending !== undefined) return this.#ended(ending);
      const { heard, token } = this.#record;
      const ignoreViews = heard === "view" && this.#settlement.with.options.on_view_error === "skip";
      await this.#settlement.with.source.mayWrite();
      this.#settlement.leaveIfAborted();
      this.#wasSent = true;
      const { leave, room } = this.#settlement.with;
      const sent = this.#line.sink.insert(this.#block, token, leave, { ignoreViews });
      const answer = await room.answerOf(`an insert of ${this.#record.rows} rows`, sent);
      if (answer.kind === "ok") {
        const missing = this.#isUncertain ? await this.#clearance.ofAnswered(this.#record) : undefined;
        if (missing !== undefined) {
          if (this.#obey(missing) === "again") return this.#ended("again");
          continue;
        }
        if (ignoreViews) this.#settlement.with.telemetry.viewErrorIgnored(namesOf(this.#record));
        const { time, taken } = this.#record.target!;
        this.#record = { ...this.#record, written_at: time + Math.max(0, Date.now() - taken) };
        break;
      }
      this.#settlement.leaveIfAborted();
      const next = await this.#after(answer);
      if (next !== undefined) return this.#ended(next);
    }
    if (this.#record.rows > 0) this.#settlement.noteWritten(this.#record);
    this.#settlement.with.room.leave();
    return this.#ended("settled", this.#block.body.length);
  }

  /** Whether the batch may be sent now; else how it ends. Reads the target before the first send, and before a repeat. */
  async #clear(): Promise<SendResult["kind"] | undefined> {
    if (this.#mayBeThere) return this.#obey(await this.#clearance.ofRepeat(this.#record));
    if (this.#isDueForReading()) {
      const target = await this.#settlement.read(this.#line.sink);
      await this.#amend({ target, heard: "nothing" });
    }
    return undefined;
  }

  /**
   * As long as nothing but refusals was heard, what comes is a first send: the recorded reading is that of just before it,
   * however long the refusals took (delivery, the insert: uncertain).
   */
  #isDueForReading(): boolean {
    const { target, heard } = this.#record;
    if (target === undefined || heard === "refused") return true;
    const age = Date.now() - target.taken;
    return age < 0 || age > oldestReading;
  }

  /** How the batch ends by a verdict; undefined where it is sent. */
  #obey({ kind, record }: Verdict): SendResult["kind"] | undefined {
    this.#record = record;
    if (kind === "with a fresh token") this.#isUncertain = false;
    return kind === "settled" || kind === "again" ? kind : undefined;
  }

  get #mayBeThere(): boolean {
    return this.#isUncertain || this.#record.heard === "view";
  }

  /** What follows a failed insert: another attempt, or an end. */
  async #after(answer: Refusal): Promise<SendResult["kind"] | undefined> {
    const { failure } = answer;
    if (answer.kind === "unknown" && failure.class !== "view") this.#isUncertain = true;
    const { telemetry } = this.#settlement.with;
    const unknown = answer.kind === "unknown";
    telemetry.insertFailed({ pipeline_id: this.#record.pipeline_id, rows: this.#record.rows, failure, unknown });
    if (failure.code === memoryLimit) this.#settlement.with.onTooLarge();
    if (failure.class !== "row") return this.#waitAfter(answer, failure);
    const refused = { record: this.#record, block: this.#block, failure, suspicion: this.#suspicion };
    const judged = await judgeRows(refused, this.#line, this.#settlement);
    if (judged.kind === "trouble") return this.#waitAfter(answer, judged.failure, { rowsGoInAgain: true });
    await this.#exclude(judged.rows);
    return undefined;
  }

  async #waitAfter(
    { kind, failure }: Refusal,
    trouble: Trouble,
    { rowsGoInAgain = false } = {},
  ): Promise<SendResult["kind"] | undefined> {
    this.#failures += 1;
    const isFromView = failure.class === "view" || this.#record.heard === "view";
    const mayBeThere = this.#mayBeThere || isFromView;
    const isRefused = kind === "refused" && !mayBeThere;
    // Where the table is wrong, the rows that were taken out of the batch before go in again with the others.
    if (rowsGoInAgain && isRefused) this.#takeBack();
    await this.#amend({ heard: isFromView ? "view" : isRefused ? "refused" : "nothing" });
    if (this.#prepared.isEarlier === true && mendable.has(failure.class)) {
      return mayBeThere ? "again with its token" : "again";
    }
    await this.#settlement.wait(trouble, this.#failures, this.#line.sink);
    await this.#settlement.reopen(this.#line.sink, this.#failures);
    await this.#encodeAgain();
    return undefined;
  }

  #takeBack(): void {
    const excluded = new Set(this.#record.excluded);
    const rejections = this.#record.rejections.filter(({ position }) => !excluded.has(position));
    this.#record = { ...this.#record, excluded: [], rejections, rows: this.#record.rows + excluded.size };
  }

  async #exclude(rows: readonly BadRow[]): Promise<void> {
    const { builder } = this.#prepared;
    const letters = rows.map(({ row, failure: { name, text } }) =>
      builder.letter(this.#block.events.at(row), { reason: `sink_rejection_${name}`, error: text }),
    );
    const { excluded, rejections } = this.#record;
    await this.#amend({
      rows: this.#record.rows - rows.length,
      excluded: [...excluded, ...letters.map(({ position }) => position)],
      rejections: [...rejections, ...letters],
      heard: "nothing",
    });
    await this.#encodeAgain();
  }

  /**
   * Makes the rows again, for the columns as they are now. What no longer fits becomes a letter, not a loss. What fits
   * now and did not before becomes a row, unless the batch may be in the table: then its token would drop that row.
   */
  async #encodeAgain(made?: Block): Promise<void> {
    const { excluded } = this.#record;
    const gone = this.#mayBeThere ? deadPositions(this.#record) : excluded;
    this.#block = made ?? this.#prepared.builder.encode(gone);
    const rejections = merged(this.#record.rejections, new Set(gone), this.#block.rejected);
    const rows = this.#block.events.length;
    if (rows === this.#record.rows && isSame(rejections, this.#record.rejections)) return;
    this.#record = await this.#settlement.prepare({ ...this.#record, rows, rejections });
  }

  async #untilMappingFits(): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const trouble = await wrongMapping(this.#record, this.#line, this.#settlement);
      if (trouble === undefined) return;
      await this.#settlement.wait(trouble, attempt, this.#line.sink);
      await this.#settlement.reopen(this.#line.sink, attempt);
      await this.#encodeAgain();
    }
  }

  async #amend(changes: Partial<BatchRecord>): Promise<void> {
    this.#record = await this.#settlement.amend({ ...this.#record, ...changes });
  }

  #ended(kind: SendResult["kind"], bytes = 0): SendResult {
    return { kind, record: this.#record, bytes };
  }
}

/** Letters of the positions that stay out, and those of the rows as they were encoded now, in order. */
function merged(before: readonly Rejection[], out: ReadonlySet<number>, now: readonly Rejection[]): Rejection[] {
  const kept = before.filter(({ position }) => out.has(position));
  const known = new Set(kept.map(({ position }) => position));
  const others = now.filter(({ position }) => !known.has(position));
  return [...kept, ...others].toSorted((one, other) => one.position - other.position);
}

function isSame(one: readonly Rejection[], other: readonly Rejection[]): boolean {
  const positions = new Set(other.map(({ position }) => position));
  return one.length === other.length && one.every(({ position }) => positions.has(position));
}
