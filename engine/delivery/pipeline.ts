import type { CompiledPipeline } from "../batch/compiled-pipeline.ts";
import { BatchReader, type BatchReaderOptions } from "../batch/reader.ts";
import type { LetterEvent } from "../core/dead-letter.ts";
import { LeftForLater } from "../core/errors.ts";
import { holdsPositions, lettersOf, rangesOf, type Journal } from "../core/journal.ts";
import type { KeyMemory } from "../core/key-memory.ts";
import type { Waited } from "../core/pause.ts";
import { RetryPause, type Pace } from "../flow/retry-pause.ts";
import { sleep } from "../flow/sleep.ts";
import { InFlightBatches, type Turn } from "./in-flight.ts";
import { JournalWriter, Pauses } from "./pauses.ts";
import { prepareBatch, type PreparedBatch, type PrepareOptions } from "./prepared-batch.ts";
import type { SendOptions } from "./protocol.ts";
import { Recovery } from "./recovery.ts";
import { ReleasedDuplicates } from "./released-duplicates.ts";
import { BatchSender, type SenderOptions } from "./sender.ts";
import { Target } from "./target.ts";

export interface PipelineOptions extends Omit<BatchReaderOptions, "leave" | "drain"> {
  /** Inserts in flight. */
  replicas: number;
  journal: Journal;
  options: SendOptions;
  /** What dedup remembers; empty where there is none. */
  keys: KeyMemory;
  compiled: CompiledPipeline;
  /** An earlier revision, of a pending batch; undefined if its config is gone. */
  compiledOf: (revision: number) => CompiledPipeline;
  /** How time passes in a wait; the real time by default. */
  pace?: Pace;
  /** Where its rows go; absent: into the table (see `BatchRecord.into`). */
  into?: "join";
  /** Draws the numbers of its batches; its own by default. Two pipelines with one journal share it. */
  drawNumber?: () => number;
  /** Called when source and target answer as they should. */
  onOpened?: () => void;
  /**
   * Called before a batch begins, while none is being built: no batch that comes has an earlier clock than `oldest`. Resolves
   * with why none may begin yet.
   */
  beforeBatch?: (oldest: number) => Promise<NoRoom | undefined>;
}

/** Why no batch may begin: a state is at its limit. */
export type NoRoom = Pick<Waited, "text" | "way_out">;

/** Draws the numbers of a pipeline's batches: after all that its journal knows. */
export function batchNumbers(journal: Journal, pipeline_id: string): () => number {
  const pending = journal.pending(pipeline_id).map(({ batch }) => batch);
  let next = Math.max(journal.progress(pipeline_id).batch, ...pending) + 1;
  return () => next++;
}

/** How often the batch clock is stored, in milliseconds: far less than a step of the clock is. */
const markEvery = 10 * 60_000;

/**
 * Takes events from the source through the transforms to the sink: the only place that acknowledges and dead-letters.
 *
 * opening    until source and target answer as they should, and the keys of dedup are loaded
 *     recovering what an earlier start prepared and did not commit, each batch from its record alone
 *     running    read, transform, prepare, insert, commit; several inserts in flight, commits in order
 *     draining   after `stop`: what the source held at that moment; no pause is waited for
 *     left       what is prepared and not committed stays in the journal, for the next start
 *
 * The life of a batch is in `#run` (read, transform, prepare) and `#deliver` (insert, commit, acknowledge).
 */
export class Pipeline {
  readonly #options: PipelineOptions;
  readonly #leave = new AbortController();
  readonly #drain = new AbortController();
  readonly #reader: BatchReader;
  readonly #pauses: Pauses;
  readonly #journal: JournalWriter;
  readonly #target: Target;
  readonly #preparing: PrepareOptions;
  readonly #sending: SenderOptions;
  readonly #recovery: Recovery;
  readonly #released: ReleasedDuplicates;
  readonly #inFlight: InFlightBatches;
  readonly #drawNumber: () => number;
  /** Resolves when all batches of an earlier start are being delivered. */
  readonly #recovered: Promise<void>;
  #isRecovered: () => void = () => undefined;
  /** Reprocesses whose batch is not delivered yet: it must not be prepared after the end of this pipeline. */
  readonly #beginning = new Set<Promise<void>>();
  /** The error that ended a batch, where no retry mends it. */
  #failure: Error | undefined;

  constructor(options: PipelineOptions) {
    const { pipeline_id, source, telemetry, keys, clock, compiled, compiledOf, options: sendOptions } = options;
    const { written } = options.journal.progress(pipeline_id);
    const { into, holding } = options;
    this.#drawNumber = options.drawNumber ?? batchNumbers(options.journal, pipeline_id);
    const signals = { leave: this.#leave.signal, drain: this.#drain.signal };
    const reader = new BatchReader({ ...options, ...signals });
    const pauses = new Pauses(new RetryPause(pipeline_id, telemetry, options.pace), signals);
    const journal = new JournalWriter(options.journal, pauses);
    const target = new Target({ pipeline_id, telemetry, pauses, written });
    const common = { telemetry, options: sendOptions, source, journal, target, pauses };
    this.#options = options;
    this.#reader = reader;
    this.#pauses = pauses;
    this.#journal = journal;
    this.#target = target;
    this.#preparing = {
      pipeline_id,
      compiled,
      keys,
      telemetry,
      leave: signals.leave,
      ...(into !== undefined && { into }),
      ...(holding !== undefined && { holding }),
    };
    this.#sending = { ...common, onTooLarge: () => reader.shrink() };
    this.#recovery = new Recovery({ ...common, ...this.#preparing, compiledOf, reader });
    this.#released = new ReleasedDuplicates({
      ...this.#preparing,
      clock,
      reader,
      drawNumber: this.#drawNumber,
    });
    this.#inFlight = new InFlightBatches(options.replicas, (error) => this.#givenUp(error));
    this.#recovered = new Promise((resolve) => (this.#isRecovered = resolve));
  }

  /** Runs until `stop` or `abort`. Throws only errors that no retry mends, such as a damaged stream. */
  async run(): Promise<void> {
    const { compiled, pipeline_id, source, journal, clock } = this.#options;
    const mark = (): Promise<void> => journal.mark(pipeline_id, clock.now()).catch(() => undefined);
    const marking = setInterval(() => void mark(), markEvery).unref();
    try {
      await this.#recover(await this.#open());
      await source.begin();
      await this.#run();
    } catch (error) {
      if (!(error instanceof LeftForLater)) throw error;
    } finally {
      this.abort();
      this.#isRecovered();
      await Promise.allSettled(this.#beginning);
      await this.#inFlight.ended();
      this.#pauses.end();
      clearInterval(marking);
      await mark();
      await this.#recovery.close();
      await compiled.sink.close();
      await source.close();
    }
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Drains what the source holds now; leaves at the latest after `limit` milliseconds. `run` resolves then. */
  stop(limit: number): void {
    this.#options.source.drain();
    this.#drain.abort();
    void sleep(limit, this.#leave.signal).then(() => this.abort());
  }

  /** Leaves at once. */
  abort(): void {
    this.#leave.abort();
    this.#drain.abort();
  }

  /**
   * Sends dead letters through the pipeline again, as a batch of their own. Resolves when that is prepared: from then on
   * their events are settled exactly once, and the letters go with the commit. Throws LeftForLater; nothing was begun then.
   */
  async reprocess(letters: readonly LetterEvent[]): Promise<void> {
    const begun = this.#reprocess(letters);
    this.#beginning.add(begun);
    await begun.finally(() => this.#beginning.delete(begun));
  }

  async #reprocess(letters: readonly LetterEvent[]): Promise<void> {
    await this.#recovered;
    if (this.#drain.signal.aborted)
      throw new LeftForLater("the pipeline stops: reprocess the letters when it runs again");
    const builder = this.#reader.ofLetters(letters, this.#options.compiled, this.#drawNumber());
    const numbers = letters.map(({ number }) => number);
    const prepared = await prepareBatch(builder, this.#preparing, { kind: "letters", numbers });
    this.#pauses.leaveIfAborted();
    await this.#journal.prepare(prepared.record);
    this.#begin(prepared);
  }

  /** Resolves with the batches, by their numbers, whose events another reader has taken over. */
  async #open(): Promise<number[]> {
    const { compiled, pipeline_id, source, telemetry, keys, journal, clock } = this.#options;
    await keys.load(journal, pipeline_id, clock.now());
    if (keys.size.keys > 0) telemetry.keysHeld({ pipeline_id, ...keys.size });
    const givenUp = await source.open({ leave: this.#leave.signal, drain: this.#drain.signal });
    for (const batch of givenUp) keys.release(batch);
    await this.#target.reopen(compiled.sink, 1);
    this.#pauses.end();
    this.#options.onOpened?.();
    return givenUp;
  }

  async #recover(givenUp: readonly number[]): Promise<void> {
    const { pipeline_id, source, journal } = this.#options;
    for (const record of journal.pending(pipeline_id)) {
      if (!givenUp.includes(record.batch)) this.#begin(await this.#recovery.prepared(record));
    }
    this.#isRecovered();
    if (source.waitsForSettled) await this.#inFlight.allCommitted();
  }

  /** Read, transform, prepare: one batch after another, until a drain leaves nothing to read. */
  async #run(): Promise<void> {
    const { compiled, keys } = this.#options;
    for (;;) {
      await this.#inFlight.room();
      await this.#roomForState();
      const builder = await this.#reader.next(compiled, this.#drawNumber, (batch) => keys.release(batch));
      if (builder === undefined) break;
      const prepared = await prepareBatch(builder, this.#preparing);
      const { rows, rejections, waiting } = prepared.record;
      // A batch without a row or a letter is committed at once, in one write, unless another is in flight.
      const isNothing = rows + rejections.length + waiting.length === 0 && this.#inFlight.isEmpty;
      if (!isNothing) await this.#journal.prepare(prepared.record);
      this.#begin(prepared);
    }
    await this.#inFlight.allCommitted();
  }

  #begin(prepared: PreparedBatch): void {
    this.#inFlight.begin(prepared.record, (turn) => this.#deliver(prepared, turn));
  }

  /** Insert, commit, acknowledge. */
  async #deliver(prepared: PreparedBatch, turn: Turn): Promise<void> {
    const { keys, source } = this.#options;
    const sent = await this.#send(prepared);
    const { record } = sent;
    // Its rows cannot change any more; once that is durable, other batches may rely on it.
    if (!turn.isNow || record.waiting.length > 0) {
      await this.#journal.amend(record);
      keys.written(record);
    }
    await turn.came;
    const released = await this.#released.of(sent);
    await this.#journal.commit(record, released?.record);
    keys.written(record);
    this.#inFlight.committed(record);
    if (holdsPositions(record)) source.acknowledge(rangesOf(record));
    this.#reportKeys(record.keys.length);
    this.#reader.forget(lettersOf(record));
    if (released !== undefined) this.#begin(released);
  }

  /** Inserts a batch, by the revision that made it, and then by the current one where it has to be made again. */
  async #send(prepared: PreparedBatch): Promise<PreparedBatch> {
    const { pipeline_id, telemetry } = this.#options;
    for (let current = prepared; ;) {
      const started = performance.now();
      const batch = current;
      const sent = await this.#inFlight.inSlot(() => new BatchSender(batch, this.#sending).run());
      if (sent.kind === "settled") {
        const { record, bytes } = sent;
        const seconds = (performance.now() - started) / 1000;
        if (bytes > 0) telemetry.inserted({ pipeline_id, rows: record.rows, bytes, seconds });
        this.#reader.grow();
        return { ...current, record };
      }
      current = await this.#recovery.again(sent, current);
    }
  }

  /** Waits until dedup and join have room for another batch: at a limit the pipeline pauses, and nothing is lost. */
  async #roomForState(): Promise<void> {
    const { keys, clock, beforeBatch } = this.#options;
    for (let attempt = 1; ; attempt += 1) {
      const oldest = this.#inFlight.oldest(clock.now());
      keys.expire(oldest);
      const text = keys.full();
      const found = text === undefined ? await beforeBatch?.(oldest) : { text };
      if (found === undefined) {
        if (attempt > 1) this.#pauses.end();
        return;
      }
      await this.#pauses.wait({ class: "storage", ...found }, attempt);
    }
  }

  #reportKeys(brought: number): void {
    const { keys, pipeline_id, telemetry } = this.#options;
    if (brought > 0) telemetry.keysHeld({ pipeline_id, ...keys.size });
  }

  #givenUp(error: unknown): void {
    if (error instanceof Error && !(error instanceof LeftForLater)) this.#failure ??= error;
    this.abort();
  }
}
