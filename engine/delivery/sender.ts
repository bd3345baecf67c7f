import { LeftForLater } from "../core/errors.ts";
import { refusedBySink, type Rejection } from "../core/dead-letter.ts";
import { deadPositions, settledRejections, type BatchRecord } from "../core/journal.ts";
import type { Place } from "../core/positions.ts";
import type { Block, Reading } from "../core/sink.ts";
import type { Source } from "../core/source.ts";
import { EventList } from "../event/event.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { findBadRows, type FailedCodes } from "./bad-rows.ts";
import type { JournalWriter, Pauses } from "./pauses.ts";
import { freshToken, namesOf, type PreparedBatch } from "./prepared-batch.ts";
import {
  beginSending,
  decide,
  mayBeThere,
  whenLeft,
  type Action,
  type BadRow,
  type BatchEvent,
  type Effect,
  type Refusal,
  type Rules,
  type Sending,
  type SendOptions,
} from "./protocol.ts";
import { rowsText, type Target } from "./target.ts";

/**
 * How the sending of a batch ends: it is settled (`bytes` were inserted, 0 where nothing was), or the current revision
 * has to make it again, under its own token because it may be in the table, or as a new one.
 */
export type SendResult =
  | { kind: "settled"; record: BatchRecord; bytes: number }
  | { kind: "remake"; record: BatchRecord; token: "own" | "fresh" };

/** What sending the batches of a pipeline needs. */
export interface SenderOptions {
  options: SendOptions;
  journal: JournalWriter;
  target: Target;
  pauses: Pauses;
  telemetry: Telemetry;
  source: Pick<Source, "mayWrite">;
  /** The server had too little memory for a batch. */
  onTooLarge(): void;
}

/** Sends one prepared batch: carries out what the protocol decides after each event, until the sending ends. */
export class BatchSender {
  readonly #with: SenderOptions;
  readonly #prepared: PreparedBatch;
  readonly #rules: Rules;
  #record: BatchRecord;
  #block: Block = { events: new EventList(), body: Buffer.alloc(0), rejected: [] };
  #sending: Sending;
  #timesSent = 0;
  readonly #codes: FailedCodes = {};

  constructor(prepared: PreparedBatch, options: SenderOptions) {
    this.#prepared = prepared;
    this.#with = options;
    this.#rules = { ...options.options, isEarlier: prepared.isEarlier === true };
    this.#record = prepared.record;
    this.#sending = beginSending(prepared.record.state);
  }

  /** Sends until everything of the batch that can be written is. Throws LeftForLater. */
  async run(): Promise<SendResult> {
    try {
      if (this.#record.state.kind !== "written") await this.#encode(this.#prepared.block);
      let outcome: BatchEvent | SendResult = this.#ready();
      while (!("record" in outcome)) outcome = await this.#follow(outcome);
      return outcome;
    } catch (error) {
      const state =
        error instanceof LeftForLater ? whenLeft(this.#sending, { wasSent: this.#timesSent > 0 }) : undefined;
      if (state !== undefined) await this.#amend({ state });
      throw error;
    }
  }

  /** Carries out the steps that follow from an event, up to the next event or the end. */
  async #follow(event: BatchEvent): Promise<BatchEvent | SendResult> {
    const { next, steps } = decide(this.#sending, event, this.#rules);
    for (const step of steps) {
      const outcome = await this.#carryOut(step, next);
      if (outcome !== undefined) return outcome;
    }
    throw new Error(`expected the steps after "${event.kind}" to lead on`);
  }

  /** The event or the end that a step leads to; undefined for an effect. The batch becomes `next` after its effects. */
  async #carryOut(step: Effect | Action, next: Sending): Promise<BatchEvent | SendResult | undefined> {
    switch (step.do) {
      case "report":
        this.#report(step);
        return undefined;
      case "shrink":
        this.#with.onTooLarge();
        return undefined;
      case "takeBackExcluded":
        this.#takeBackExcluded();
        return undefined;
      case "note":
        await this.#amend({ state: next.state });
        return undefined;
      case "drawToken":
        this.#record = await this.#with.journal.prepare({ ...this.#record, token: freshToken(), state: next.state });
        return undefined;
      case "pause":
        await this.#with.pauses.wait({ class: step.class, text: uncertainText(this.#record, step) }, step.pauses);
        return undefined;
      default:
        this.#sending = next;
        return this.#act(step);
    }
  }

  async #act(step: Action): Promise<BatchEvent | SendResult> {
    switch (step.do) {
      case "read":
        return { kind: "read", reading: await this.#with.target.read(this.#sink) };
      case "verify":
        return { kind: "verified", reading: await this.#with.target.read(this.#sink), now: Date.now() };
      case "send":
        return this.#send(step.ignoreViews);
      case "findBadRows":
        return this.#findBadRows(step.answer);
      case "exclude":
        return this.#exclude(step.rows);
      case "retry":
        await this.#waitAndReopen(step.trouble, step.failures);
        return this.#ready();
      case "remake":
        return { kind: "remake", record: this.#record, token: step.token };
      default:
        return this.#settle(step.by);
    }
  }

  get #sink(): PreparedBatch["compiled"]["sink"] {
    return this.#prepared.compiled.sink;
  }

  #ready(): BatchEvent {
    return { kind: "ready", rows: this.#record.rows, now: Date.now() };
  }

  async #send(ignoreViews: boolean): Promise<BatchEvent> {
    const { source, pauses, target } = this.#with;
    await source.mayWrite();
    pauses.leaveIfAborted();
    this.#timesSent += 1;
    const answer = await target.insert(this.#sink, this.#block, this.#record.token, ignoreViews);
    return { kind: "answered", answer, now: Date.now() };
  }

  async #findBadRows(answer: Refusal): Promise<BatchEvent> {
    const refused = { record: this.#record, block: this.#block, failure: answer.failure, codes: this.#codes };
    const found = await findBadRows(refused, this.#prepared.compiled, this.#with.target);
    if (found.kind === "rows") return { kind: "rowsFound", rows: found.rows };
    return { kind: "noRowFound", answer, trouble: found.trouble };
  }

  async #exclude(rows: readonly BadRow[]): Promise<BatchEvent> {
    const { builder } = this.#prepared;
    const letters = rows.map(({ row, failure: { name, text } }) =>
      builder.letter(this.#block.events.at(row), { reason: `${refusedBySink}${name}`, error: text }),
    );
    const { excluded, rejections } = this.#record;
    await this.#amend({
      rows: this.#record.rows - rows.length,
      excluded: [...excluded, ...letters.map(({ position }) => position)],
      rejections: [...rejections, ...letters],
      state: this.#sending.state,
    });
    await this.#encode();
    return this.#ready();
  }

  /** An event that is gone from the source stays excluded, as no row can be made of it: its key stays free. */
  #takeBackExcluded(): void {
    const { builder } = this.#prepared;
    const back = new Set(this.#record.excluded.filter((place) => builder.mayBeRow(place)));
    const excluded = this.#record.excluded.filter((place) => !back.has(place));
    const rejections = this.#record.rejections.filter(({ position }) => !back.has(position));
    this.#record = { ...this.#record, excluded, rejections, rows: this.#record.rows + back.size };
  }

  async #waitAndReopen(...[trouble, attempt]: [Parameters<Pauses["wait"]>[0], number]): Promise<void> {
    await this.#with.pauses.wait(trouble, attempt, this.#sink);
    await this.#with.target.reopen(this.#sink, attempt);
    await this.#encode();
  }

  /**
   * Makes the rows again, for the present columns. An event that no longer fits becomes a dead letter. One that fits
   * now and did not before becomes a row, unless the batch may be in the table: then its token would drop that row.
   */
  async #encode(made?: Block): Promise<void> {
    const { excluded } = this.#record;
    const settled = settledRejections(this.#record).map(({ position }) => position);
    const gone = mayBeThere(this.#sending) ? deadPositions(this.#record) : [...excluded, ...settled];
    this.#block = made ?? this.#prepared.builder.encode(gone);
    const rejections = merged(this.#record.rejections, new Set(gone), this.#block.rejected);
    const rows = this.#block.events.length;
    if (rows === this.#record.rows && isSame(rejections, this.#record.rejections)) return;
    this.#record = await this.#with.journal.prepare({ ...this.#record, rows, rejections });
  }

  async #amend(changes: Partial<BatchRecord>): Promise<void> {
    this.#record = await this.#with.journal.amend({ ...this.#record, ...changes });
  }

  #settle(by: Extract<Action, { do: "commit" }>["by"]): SendResult {
    this.#record = { ...this.#record, state: this.#sending.state };
    if (by === "insert") this.#with.target.noteWritten(this.#record);
    if (by === "insert" || by === "nothing") this.#with.pauses.end();
    const bytes = by === "insert" ? this.#block.body.length : 0;
    // A request that was given up may still be on its way with these bytes.
    if (by === "insert" && this.#timesSent === 1) this.#sink.release(this.#block);
    return { kind: "settled", record: this.#record, bytes };
  }

  #report(step: Extract<Effect, { do: "report" }>): void {
    const { telemetry } = this.#with;
    const names = namesOf(this.#record);
    switch (step.what) {
      case "batchUncertain":
        return telemetry.batchUncertain({ ...names, choice: step.choice });
      case "insertFailed": {
        const { pipeline_id, rows } = names;
        return telemetry.insertFailed({ pipeline_id, rows, failure: step.failure, unknown: step.unknown });
      }
      default:
        return telemetry[step.what](names);
    }
  }
}

/** Why a batch that may be in the table is not sent again. */
export function uncertainText(
  { batch, rows, state }: Pick<BatchRecord, "batch" | "rows" | "state">,
  { class: kind, reading: { forgetful } }: { class: "uncertain" | "view"; reading: Pick<Reading, "forgetful"> },
): string {
  const what = `batch ${batch} of ${rowsText(rows)}`;
  if (state.kind === "viewFailed" && kind === "uncertain")
    return `${what} was in the table when ${failedView(state)}, and its server was started since: a repeat completes the view, and writes the rows once more if a loss of power took their token; set x-sluice.on_uncertain to insert or skip`;
  return state.kind === "viewFailed"
    ? `${what} is in the table, but ${failedView(state)}, and a repeat could double rows, as ${forgetful ?? "that is too long ago"}; drop the view and make it again, or set x-sluice.on_view_error: skip, and it goes on without these rows there`
    : `it is not known whether ${what} was written: the table may no longer recognise a repeat, or its server was restarted and may recognise a token whose rows it does not hold; set x-sluice.on_uncertain to insert or skip`;
}

function failedView({ view, error }: Extract<BatchRecord["state"], { kind: "viewFailed" }>): string {
  return view === undefined
    ? "a materialized view on it failed"
    : `the materialized view ${view} on it failed (${error})`;
}

/** The dead letters at the places that stay excluded, and those of the rows that were encoded now, in order. */
function merged(before: readonly Rejection[], out: ReadonlySet<Place>, now: readonly Rejection[]): Rejection[] {
  const kept = before.filter(({ position }) => out.has(position));
  const known = new Set(kept.map(({ position }) => position));
  const others = now.filter(({ position }) => !known.has(position));
  return [...kept, ...others].toSorted((one, other) => one.position - other.position);
}

function isSame(one: readonly Rejection[], other: readonly Rejection[]): boolean {
  const positions = new Set(other.map(({ position }) => position));
  return one.length === other.length && one.every(({ position }) => positions.has(position));
}
