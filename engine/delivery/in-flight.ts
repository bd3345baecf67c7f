import type { BatchReader, Clock, JudgedAgain } from "../batch/reader.ts";
import { type BatchRecord, holdsPositions, type WaitingDrop } from "../core/journal.ts";
import type { KeyMemory } from "../core/key-memory.ts";
import { narrowed } from "../core/positions.ts";
import type { Source } from "../core/source.ts";
import type { BatchBuilder } from "../batch/builder.ts";
import type { CompiledPipeline } from "../batch/compiled-pipeline.ts";
import type { Recovery } from "./recovery.ts";
import { BatchSender, type SendResult } from "./sender.ts";
import { LeftForLater } from "../core/errors.ts";
import type { Settlement } from "./settlement.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { prepareBatch, ofLetters, type PreparedBatch } from "./prepared-batch.ts";

export interface FlightParts {
  pipeline_id: string;
  line: CompiledPipeline;
  keys: KeyMemory;
  clock: Clock;
  telemetry: Telemetry;
  /** Inserts in flight. */
  replicas: number;
  source: Source;
  reader: BatchReader;
  settlement: Settlement;
  recovery: Recovery;
  drawNumber: () => number;
  /** Aborts when the pipeline leaves at once. */
  leave: AbortSignal;
  /** A batch was given up: by a drain that waits for no pause, or with what no wait can mend. */
  onFailed(error: unknown): void;
}

/** So many written batches may wait for their turn to be committed while others are sent. */
const mostWaiting = 4;

/**
 * The batches of a pipeline between prepare and commit: a few are sent at the same time, those of the source are
 * committed in their order, and drops that wait are settled before their batch is.
 */
export class InFlightBatches {
  readonly #parts: FlightParts;
  /** The commit of the newest batch of the source; each waits for the one before it. */
  #committed: Promise<void> = Promise.resolve();
  readonly #inFlight = new Set<Promise<void>>();
  readonly #sending = new Set<Promise<unknown>>();
  #hasFailed = false;
  /** Clocks of the batches under way, by their number. */
  readonly #clocks = new Map<number, number>();
  /** Rejects when the pipeline leaves at once. */
  readonly #left: Promise<never>;

  constructor(parts: FlightParts) {
    this.#parts = parts;
    this.#left = new Promise((_resolve, reject) => {
      const leave = (): void => reject(new LeftForLater("the pipeline leaves"));
      parts.leave.addEventListener("abort", leave, { once: true });
    });
    this.#left.catch(() => undefined);
  }

  get isEmpty(): boolean {
    return this.#inFlight.size === 0;
  }

  /** The time that keys must still be known at: of the oldest batch under way, or now. */
  oldest(now: number): number {
    return Math.min(now, ...this.#clocks.values());
  }

  /** Resolves when there is room for another batch. Throws LeftForLater after one was given up: none may follow it. */
  async room(): Promise<void> {
    const { replicas } = this.#parts;
    while (this.#sending.size >= replicas || this.#inFlight.size >= replicas + mostWaiting) {
      await Promise.race([...this.#sending, ...this.#inFlight]);
    }
    if (this.#hasFailed) throw new LeftForLater("a batch before was given up");
  }

  /** Resolves when all are committed, also those that others leave behind. Throws what ended one. */
  async landed(): Promise<void> {
    while (this.#inFlight.size > 0) await Promise.all(this.#inFlight);
  }

  /** The same, whatever becomes of them. */
  async ended(): Promise<void> {
    while (this.#inFlight.size > 0) await Promise.allSettled(this.#inFlight);
  }

  /** Starts a batch on its way. One that holds no position that is not final yet waits for nobody's turn. */
  begin(prepared: PreparedBatch): void {
    const { batch, clock } = prepared.record;
    this.#clocks.set(batch, clock);
    const inTurn = holdsPositions(prepared.record);
    const sent = this.#insertAndCommit(prepared, inTurn ? this.#committed : Promise.resolve());
    if (inTurn) this.#committed = sent;
    this.#inFlight.add(sent);
    sent.catch((error: unknown) => this.#parts.onFailed(error)).finally(() => this.#inFlight.delete(sent));
  }

  async #insertAndCommit(begun: PreparedBatch, before: Promise<void>): Promise<void> {
    const { keys, telemetry, pipeline_id, settlement, reader, source } = this.#parts;
    let isTurn = false;
    before.then(
      () => (isTurn = true),
      () => undefined,
    );
    const { record, builder } = await this.#send(begun);
    // From here on its rows are fixed; once that is durable, others may count on it.
    if (!isTurn || record.waiting !== undefined) {
      await settlement.amend({ ...record, heard: "written" });
      keys.written(record);
    }
    await before;
    const aside = await this.#asideOf(record, builder);
    await settlement.commit(record, aside?.record);
    keys.written(record);
    this.#clocks.delete(record.batch);
    if (holdsPositions(record)) source.acknowledge(record.ranges);
    if (record.keys !== undefined) telemetry.keysHeld({ pipeline_id, ...keys.size });
    reader.forget(record.letters ?? []);
    if (aside !== undefined) this.begin(aside);
  }

  /** Sends a batch, by the line that made it, and then by the current one where it has to be made again. */
  async #send(begun: PreparedBatch): Promise<PreparedBatch> {
    const { pipeline_id, telemetry, reader, recovery } = this.#parts;
    for (let prepared = begun; ;) {
      const started = performance.now();
      const ending = await this.#inSlot(() => new BatchSender(prepared, this.#parts.settlement).run());
      const { record, bytes } = ending;
      if (ending.kind === "settled") {
        const seconds = (performance.now() - started) / 1000;
        if (bytes > 0) telemetry.inserted({ pipeline_id, rows: record.rows, bytes, seconds });
        reader.grow();
        return { ...prepared, record };
      }
      prepared = await recovery.again(ending, prepared);
    }
  }

  /** Only so many are sent at the same time, whatever else waits. */
  async #inSlot(send: () => Promise<SendResult>): Promise<SendResult> {
    while (this.#sending.size >= this.#parts.replicas) await Promise.race(this.#sending);
    const sending = send();
    const done = sending.then(
      () => undefined,
      () => (this.#hasFailed = true),
    );
    this.#sending.add(done);
    return sending.finally(() => this.#sending.delete(done));
  }

  /** The drops of a batch that were no repeats after all, as a batch of their own. */
  async #asideOf(
    { waiting, letters, ranges, batch: from, clock: stamped }: BatchRecord,
    { received }: BatchBuilder,
  ): Promise<PreparedBatch | undefined> {
    if (waiting === undefined) return undefined;
    const { keys, clock, line, pipeline_id, telemetry, reader, drawNumber, leave } = this.#parts;
    const judged = await settleDrops(
      { batch: from, clock: stamped, waiting },
      keys,
      () => clock.now(),
      drawNumber,
      this.#left,
    );
    const again = judged.firsts.length;
    telemetry.dropsWaited({ pipeline_id, batch: from, repeats: waiting.length - again - judged.waiting.length, again });
    if (again === 0) return undefined;
    const positions = [...judged.firsts, ...judged.waiting.map(({ position }) => position)].toSorted((a, b) => a - b);
    const builder = reader.judged(received(positions), line, judged);
    const made = await prepareBatch(builder, this.#parts, leave);
    if (letters !== undefined) return { ...made, record: ofLetters(made.record, positions) };
    return { ...made, record: { ...made.record, ranges: narrowed(ranges, positions), isAside: true } };
  }
}

/** A batch whose drops wait: its number, its clock and the drops. */
interface Dropped {
  batch: number;
  clock: number;
  waiting: readonly WaitingDrop[];
}

/**
 * Settles the drops of a batch that repeat an event which was not in the table yet (delivery, dedup): waits until what
 * each repeats is in the table, which makes it a repeat whatever the clock says by then; or until that gave the key up.
 * Those are judged again, all at one moment, by the clock of their batch: whoever came later and has the key now makes
 * them repeats too, and one that is the first has its key for its window from that clock on. Where the clock was set
 * back since, its time of now counts, as no key may be stamped in the future.
 *
 * Nothing is reserved while it waits, and waiting for *written*, not for *committed*, cannot end in a circle: what a
 * batch needs to be written never waits for another one's drops.
 */
async function settleDrops(
  { batch, clock: stamped, waiting }: Dropped,
  keys: KeyMemory,
  now: () => number,
  drawNumber: () => number,
  left: Promise<never>,
): Promise<JudgedAgain> {
  const fates = await Promise.race([Promise.all(waiting.map((drop) => keys.fateOfDrop(batch, drop))), left]);
  const freed = waiting.filter((_drop, index) => fates[index] === "free");
  const open = new Set(freed.map((drop) => ({ drop, print: Uint32Array.from(drop.print) })));
  for (;;) {
    const clock = Math.min(stamped, now());
    const held = [...open].find(({ print }) => keys.look(print, clock) === "waiting");
    if (held !== undefined) {
      if ((await Promise.race([keys.fate(held.print), left])) === "written") open.delete(held);
      continue;
    }
    const judged: JudgedAgain = { batch: drawNumber(), clock, firsts: [], waiting: [] };
    for (const { drop, print } of open) {
      const sight = keys.see(print, drop.position, judged.batch, clock, drop.window ?? 0);
      if (sight === "first") judged.firsts.push(drop.position);
      if (sight === "waiting") judged.waiting.push({ ...drop, of: judged.batch });
    }
    keys.dropsSettled(batch);
    return judged;
  }
}
