import { BatchReader, type BatchReaderOptions } from "../batch/reader.ts";
import type { LetterEvent } from "../core/dead-letter.ts";
import type { Journal } from "../core/journal.ts";
import type { KeyMemory } from "../core/key-memory.ts";
import { InFlightBatches } from "./in-flight.ts";
import type { CompiledPipeline } from "../batch/compiled-pipeline.ts";
import { Recovery } from "./recovery.ts";
import { LeftForLater } from "../core/errors.ts";
import { Settlement, type SendOptions } from "./settlement.ts";
import { prepareBatch, ofLetters } from "./prepared-batch.ts";
import { RetryPause, type Pace } from "../flow/retry-pause.ts";

export interface PipelineOptions extends Omit<BatchReaderOptions, "leave" | "drain"> {
  /** Inserts in flight. */
  replicas: number;
  journal: Journal;
  options: SendOptions;
  /** What dedup remembers; empty where there is none. */
  keys: KeyMemory;
  line: CompiledPipeline;
  /** The line of an earlier revision that a batch under way still names; undefined if its config is gone. */
  lineOf(revision: number): CompiledPipeline;
  /** How time passes in a wait; the real time by default. */
  pace?: Pace;
}

/** How often the time is noted, in milliseconds: far less than a step of the clock is. */
const markEvery = 10 * 60_000;

/**
 * Carries events from the source through the transforms to the sink: the only place that acknowledges and dead-letters.
 *
 *     opening    until source and target answer as they should, and what dedup remembers is loaded
 *     recovering what an earlier start prepared and did not commit, each batch from its record alone
 *     carrying   read, transform, prepare, insert, commit; several inserts in flight, commits in order
 *     draining   after `stop`: what the source held at that moment; no pause is waited for
 *     left       what is prepared and not committed stays in the journal, for the next start
 */
export class Pipeline {
  readonly #parts: PipelineOptions;
  readonly #reader: BatchReader;
  readonly #room: RetryPause;
  readonly #settlement: Settlement;
  readonly #recovery: Recovery;
  readonly #leave = new AbortController();
  readonly #drain = new AbortController();
  readonly #inFlight: InFlightBatches;
  #nextBatch: number;
  /** Resolves when everything that an earlier start prepared is on its way. */
  readonly #recovered: Promise<void>;
  #isRecovered: () => void = () => undefined;
  /** Reprocesses that are not on their way yet: what they prepare must not come behind the end of this pipeline. */
  readonly #beginning = new Set<Promise<void>>();
  /** What ended a batch under way, where no wait can mend it. */
  #failure: Error | undefined;

  constructor(parts: PipelineOptions) {
    this.#parts = parts;
    const { pipeline_id, journal, telemetry } = parts;
    const pending = journal.pending(pipeline_id);
    const progress = journal.progress(pipeline_id);
    const signals = { leave: this.#leave.signal, drain: this.#drain.signal };
    this.#reader = new BatchReader({ ...parts, ...signals });
    this.#room = new RetryPause(pipeline_id, telemetry, parts.pace);
    const onTooLarge = (): void => this.#reader.shrink();
    this.#settlement = new Settlement({ ...parts, ...signals, room: this.#room, onTooLarge });
    this.#recovery = new Recovery(parts, this.#reader, this.#settlement);
    this.#nextBatch = Math.max(progress.batch, ...pending.map(({ batch }) => batch)) + 1;
    this.#recovered = new Promise((resolve) => (this.#isRecovered = resolve));
    this.#inFlight = new InFlightBatches({
      ...parts,
      leave: this.#leave.signal,
      reader: this.#reader,
      settlement: this.#settlement,
      recovery: this.#recovery,
      drawNumber: this.#drawNumber,
      onFailed: (error) => {
        if (error instanceof Error && !(error instanceof LeftForLater)) this.#failure ??= error;
        this.abort();
      },
    });
  }

  /** Runs until `stop` or `abort`. Throws only what no wait can mend, such as a damaged stream. */
  async run(): Promise<void> {
    const { line, pipeline_id, source, telemetry, keys, journal, clock } = this.#parts;
    const mark = (): Promise<void> => journal.mark(pipeline_id, clock.now()).catch(() => undefined);
    const marking = setInterval(() => void mark(), markEvery).unref();
    try {
      await keys.load(journal, pipeline_id, clock.now());
      if (keys.size.keys > 0) telemetry.keysHeld({ pipeline_id, ...keys.size });
      const givenUp = await source.open({ leave: this.#leave.signal, drain: this.#drain.signal });
      for (const batch of givenUp) keys.release(batch);
      await this.#settlement.reopen(line.sink, 1);
      this.#room.leave();
      for (const record of journal.pending(pipeline_id)) {
        if (!givenUp.includes(record.batch)) this.#inFlight.begin(await this.#recovery.prepared(record));
      }
      this.#isRecovered();
      if (source.waitsForSettled) await this.#inFlight.landed();
      await source.begin();
      await this.#carry();
    } catch (error) {
      if (!(error instanceof LeftForLater)) throw error;
    } finally {
      this.abort();
      this.#isRecovered();
      await Promise.allSettled(this.#beginning);
      await this.#inFlight.ended();
      this.#room.leave();
      clearInterval(marking);
      await mark();
      await this.#recovery.close();
      await line.sink.close();
      await source.close();
    }
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Drains what the source holds now; leaves at the latest after `limit` milliseconds. `run` resolves then. */
  stop(limit: number): void {
    this.#parts.source.drain();
    this.#drain.abort();
    setTimeout(() => this.abort(), limit).unref();
  }

  /**
   * Sends dead letters through the pipeline again, as a batch of their own. Resolves when that is prepared: from then on
   * their events are settled exactly once, and the letters go with the commit. Throws LeftForLater; nothing was begun then.
   */
  async reprocess(letters: readonly LetterEvent[]): Promise<void> {
    const begun = this.#begin(letters);
    this.#beginning.add(begun);
    await begun.finally(() => this.#beginning.delete(begun));
  }

  async #begin(letters: readonly LetterEvent[]): Promise<void> {
    await this.#recovered;
    if (this.#drain.signal.aborted)
      throw new LeftForLater("the pipeline stops: reprocess the letters when it runs again");
    const builder = this.#reader.ofLetters(letters, this.#parts.line, this.#drawNumber());
    const prepared = await prepareBatch(builder, this.#parts, this.#leave.signal);
    this.#settlement.leaveIfAborted();
    const numbers = letters.map(({ number }) => number);
    const record = await this.#settlement.prepare(ofLetters(prepared.record, numbers));
    this.#inFlight.begin({ ...prepared, record });
  }

  /** Leaves at once. */
  abort(): void {
    this.#leave.abort();
    this.#drain.abort();
  }

  readonly #drawNumber = (): number => this.#nextBatch++;

  async #carry(): Promise<void> {
    const { line, keys } = this.#parts;
    for (;;) {
      await this.#inFlight.room();
      await this.#roomForKeys();
      const builder = await this.#reader.next(line, this.#drawNumber, (batch) => keys.release(batch));
      if (builder === undefined) break;
      const prepared = await prepareBatch(builder, this.#parts, this.#leave.signal);
      const { rows, rejections, waiting = [] } = prepared.record;
      // A batch that leaves nothing goes straight to its commit, which is one write too, unless another is on its way.
      const isNothing = rows + rejections.length + waiting.length === 0 && this.#inFlight.isEmpty;
      if (!isNothing) await this.#settlement.prepare(prepared.record);
      this.#inFlight.begin(prepared);
    }
    await this.#inFlight.landed();
  }

  /** Waits until dedup can remember another batch: its limits are a pause, never a lost key. */
  async #roomForKeys(): Promise<void> {
    const { keys, clock } = this.#parts;
    for (let attempt = 1; ; attempt += 1) {
      keys.expire(this.#inFlight.oldest(clock.now()));
      const text = keys.full();
      if (text === undefined) {
        if (attempt > 1) this.#room.leave();
        return;
      }
      await this.#settlement.wait({ class: "storage", text }, attempt);
    }
  }
}
