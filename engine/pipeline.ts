import { randomBytes } from "node:crypto";
import { Assembler, type AssemblerParts, type LetterEvent } from "./assembler.ts";
import type { BatchRecord, Journal } from "./core/journal.ts";
import type { Assembly, Line } from "./line.ts";
import { LeftForLater, Settlement, settledPositions, type Underway } from "./settlement.ts";
import { WaitingRoom } from "./waiting-room.ts";

export interface PipelineParts extends Omit<AssemblerParts, "leave" | "drain"> {
  /** Inserts in flight. */
  replicas: number;
  journal: Journal;
  line: Line;
  /** The line of an earlier revision that a batch under way still names. */
  lineOf(revision: number): Line;
  /** The letter of a number that a batch under way names. */
  letterOf(number: number): LetterEvent;
}

/**
 * Carries events from the source through the transforms to the sink: the only place that acknowledges and dead-letters.
 *
 *     opening    until the target answers as it should
 *     recovering what an earlier start prepared and did not commit, each batch from its record alone
 *     carrying   read, transform, prepare, insert, commit; several inserts in flight, commits in order
 *     draining   after `stop`: what the source held at that moment; no pause is waited for
 *     left       what is prepared and not committed stays in the journal, for the next start
 */
export class Pipeline {
  readonly #parts: PipelineParts;
  readonly #assembler: Assembler;
  readonly #room: WaitingRoom;
  readonly #settlement: Settlement;
  readonly #leave = new AbortController();
  readonly #drain = new AbortController();
  #nextBatch: number;
  /** The commit of the newest batch under way; each waits for the one before it. */
  #committed: Promise<void> = Promise.resolve();
  readonly #inFlight = new Set<Promise<void>>();
  /** Resolves when everything that an earlier start prepared is on its way. */
  readonly #recovered: Promise<void>;
  #isRecovered: () => void = () => undefined;
  /** What ended a batch under way, where no wait can mend it. */
  #failure: Error | undefined;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
    const { pipeline_id, journal, telemetry, line } = parts;
    const pending = journal.pending(pipeline_id);
    const newest = pending.findLast(({ letters }) => letters === undefined);
    const signals = { leave: this.#leave.signal, drain: this.#drain.signal };
    const position = (newest?.range.last ?? journal.committed(pipeline_id)) + 1;
    this.#assembler = new Assembler({ ...parts, ...signals }, position);
    this.#room = new WaitingRoom(pipeline_id, telemetry);
    this.#settlement = this.#settlementOf(line);
    this.#nextBatch = (pending.at(-1)?.batch ?? 0) + 1;
    this.#recovered = new Promise((resolve) => (this.#isRecovered = resolve));
  }

  /** Runs until `stop` or `abort`. Throws only what no wait can mend, such as a damaged stream. */
  async run(): Promise<void> {
    const { line, pipeline_id, source, telemetry } = this.#parts;
    try {
      await this.#open(line);
      const { atLeastOnce } = line.sink;
      if (atLeastOnce !== undefined) telemetry.atLeastOnce({ pipeline_id, reason: atLeastOnce });
      await this.#recover();
      this.#isRecovered();
      await this.#carry();
    } catch (error) {
      if (!(error instanceof LeftForLater)) throw error;
    } finally {
      this.abort();
      this.#isRecovered();
      await Promise.allSettled(this.#inFlight);
      this.#room.leave();
      await line.sink.close();
      await source.close();
    }
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Drains what the source holds now; leaves at the latest after `limit` milliseconds. `run` resolves then. */
  stop(limit: number): void {
    this.#assembler.drain();
    this.#drain.abort();
    setTimeout(() => this.abort(), limit).unref();
  }

  /**
   * Sends dead letters through the pipeline again, as a batch of their own. Resolves when that is prepared: from then on
   * their events are settled exactly once, and the letters go with the commit. Throws LeftForLater; nothing was begun then.
   */
  async reprocess(letters: readonly LetterEvent[]): Promise<void> {
    await this.#recovered;
    if (this.#drain.signal.aborted)
      throw new LeftForLater("the pipeline stops: reprocess the letters when it runs again");
    const assembly = this.#assembler.ofLetters(letters, this.#parts.line);
    const underway = ofLetters(this.#underway(assembly, this.#nextBatch), letters);
    this.#nextBatch += 1;
    await this.#settlement.prepare(underway.record);
    this.#track(this.#insertAndCommit(underway, this.#settlement, Promise.resolve()));
  }

  /** Leaves at once. */
  abort(): void {
    this.#leave.abort();
    this.#drain.abort();
  }

  /** Tries until the target of a line answers as it should. */
  async #open({ sink }: Line): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const answer = await sink.open(this.#leave.signal);
      if (this.#leave.signal.aborted) throw new LeftForLater("the pipeline leaves");
      if (answer.kind === "ok") break;
      if (this.#drain.signal.aborted) throw new LeftForLater(answer.failure.text);
      await this.#room.wait(answer.failure, attempt, this.#drain.signal);
    }
    this.#room.leave();
  }

  async #recover(): Promise<void> {
    const { pipeline_id, journal, line } = this.#parts;
    for (const pending of journal.pending(pipeline_id)) {
      if (pending.revision === line.revision) await this.#replay(pending, line, this.#settlement);
      else if (pending.heard === "refused") await this.#reprepare(pending);
      else await this.#replayByEarlier(pending);
    }
  }

  async #replay(record: BatchRecord, line: Line, settlement: Settlement): Promise<void> {
    const assembly = await this.#assembleAgain(record, line);
    const block = assembly.encode(settledPositions(record));
    this.#parts.telemetry.batchReplayed({ pipeline_id: record.pipeline_id, batch: record.batch, rows: record.rows });
    await this.#send({ record, assembly, block, isReplay: true }, settlement);
  }

  /** A batch that may have been written is sent again as it was: by the revision that made it, to the table it was for. */
  async #replayByEarlier(record: BatchRecord): Promise<void> {
    const line = this.#parts.lineOf(record.revision);
    try {
      await this.#open(line);
      await this.#replay(record, line, this.#settlementOf(line));
      await this.#committed;
    } finally {
      await line.sink.close();
    }
  }

  /** A batch that met only refusals is made again by the current revision: one write replaces its record. */
  async #reprepare(stale: BatchRecord): Promise<void> {
    const { pipeline_id, line, telemetry } = this.#parts;
    const { batch, range, letters, revision } = stale;
    const assembly = await this.#assembleAgain(stale, line);
    const underway = this.#underway(assembly, batch);
    telemetry.batchReprepared({ pipeline_id, batch, from: revision, to: line.revision });
    const made = { ...underway.record, range, ...(letters === undefined ? {} : { letters }) };
    await this.#send({ ...underway, record: await this.#settlement.prepare(made) }, this.#settlement);
  }

  async #assembleAgain(record: BatchRecord, line: Line): Promise<Assembly> {
    if (record.letters === undefined) return this.#assembler.again(record, line);
    return this.#assembler.ofLetters(
      record.letters.map((number) => this.#parts.letterOf(number)),
      line,
      record.clock,
    );
  }

  async #carry(): Promise<void> {
    const { line } = this.#parts;
    for (let assembly = await this.#assembler.next(line); assembly !== undefined;) {
      const underway = this.#underway(assembly, this.#nextBatch);
      this.#nextBatch += 1;
      // A batch without rows goes straight to its commit, which is one write too.
      if (underway.record.rows > 0) await this.#settlement.prepare(underway.record);
      await this.#send(underway, this.#settlement);
      assembly = await this.#assembler.next(line);
    }
    await Promise.all(this.#inFlight);
  }

  #underway(assembly: Assembly, batch: number): Underway {
    const block = assembly.encode();
    const record: BatchRecord = {
      batch,
      pipeline_id: this.#parts.pipeline_id,
      range: assembly.range,
      revision: this.#parts.line.revision,
      token: randomBytes(16).toString("hex"),
      clock: assembly.clock,
      rows: block.events.length,
      rejections: block.rejected,
      excluded: [],
      heard: "nothing",
    };
    return { record, assembly, block, isReplay: false };
  }

  /** Starts a batch on its way and returns when there is room for the next one. */
  async #send(underway: Underway, settlement: Settlement): Promise<void> {
    const isOfSource = underway.record.letters === undefined;
    const sent = this.#insertAndCommit(underway, settlement, isOfSource ? this.#committed : Promise.resolve());
    if (isOfSource) this.#committed = sent;
    this.#track(sent);
    while (this.#inFlight.size >= this.#parts.replicas) await Promise.race(this.#inFlight);
  }

  #track(sent: Promise<void>): void {
    this.#inFlight.add(sent);
    sent.then(
      () => this.#inFlight.delete(sent),
      (error: unknown) => {
        if (error instanceof Error && !(error instanceof LeftForLater)) this.#failure ??= error;
        this.abort();
      },
    );
  }

  async #insertAndCommit(underway: Underway, settlement: Settlement, before: Promise<void>): Promise<void> {
    let isTurn = false;
    before.then(
      () => (isTurn = true),
      () => undefined,
    );
    const started = performance.now();
    const written = await settlement.write(underway);
    if (written.rows > 0) {
      const { pipeline_id, telemetry } = this.#parts;
      const seconds = (performance.now() - started) / 1000;
      telemetry.inserted({ pipeline_id, rows: written.rows, bytes: underway.block.body.length, seconds });
      if (!isTurn) await settlement.noteWritten(written);
    }
    await before;
    await settlement.commit(written);
  }

  #settlementOf(line: Line): Settlement {
    const { pipeline_id, journal, telemetry } = this.#parts;
    const signals = { leave: this.#leave.signal, drain: this.#drain.signal };
    return new Settlement(line, { pipeline_id, journal, telemetry, room: this.#room, ...signals });
  }
}

/** A batch of dead letters: it holds no position of the source. */
function ofLetters(underway: Underway, letters: readonly LetterEvent[]): Underway {
  const range = { first: 0, last: 0, count: 0 };
  return { ...underway, record: { ...underway.record, range, letters: letters.map(({ number }) => number) } };
}
