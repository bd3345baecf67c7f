import { randomBytes } from "node:crypto";
import type { PipelineConfig } from "../schemas/pipeline.ts";
import { durationMs } from "../schemas/duration.ts";
import type { Journal, BatchRecord } from "./core/journal.ts";
import type { Source } from "./core/source.ts";
import { Assembly, type Line } from "./line.ts";
import { LeftForLater, Settlement, settledPositions, type Underway } from "./settlement.ts";
import type { Telemetry } from "./telemetry/telemetry.ts";
import { WaitingRoom } from "./waiting-room.ts";

export interface PipelineParts {
  pipeline_id: string;
  /** Of the current revision. */
  sinkConfig: Pick<PipelineConfig["sink"], "max_batch_size" | "max_delay_time">;
  /** Milliseconds after which an event that was not written is given up. */
  maxAge: number;
  /** Inserts in flight. */
  replicas: number;
  source: Source;
  journal: Journal;
  telemetry: Telemetry;
  line: Line;
  /** The line of an earlier revision that a batch under way still names. */
  lineOf(revision: number): Line;
}

/** One read takes at most this many events and bytes; one batch reads at most so much, however much a filter drops. */
const readEvents = 10_000;
const readBytes = 8 * 1024 * 1024;
const batchEvents = 500_000;
const batchBytes = 64 * 1024 * 1024;

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
  readonly #room: WaitingRoom;
  readonly #settlement: Settlement;
  readonly #leave = new AbortController();
  readonly #drain = new AbortController();
  readonly #delay: number;
  #lastToRead = Infinity;
  #position: number;
  #batch: number;
  /** The commit of the newest batch under way; each waits for the one before it. */
  #committed: Promise<void> = Promise.resolve();
  readonly #inFlight = new Set<Promise<void>>();
  /** What ended a batch under way, where no wait can mend it. */
  #failure: Error | undefined;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
    const { pipeline_id, journal, telemetry, line } = parts;
    this.#room = new WaitingRoom(pipeline_id, telemetry);
    this.#settlement = this.#settle(line);
    this.#delay = durationMs(parts.sinkConfig.max_delay_time);
    const newest = journal.pending(pipeline_id).at(-1);
    this.#position = (newest?.range.last ?? journal.committed(pipeline_id)) + 1;
    this.#batch = (newest?.batch ?? 0) + 1;
  }

  /** Runs until `stop` or `abort`. Throws only what no wait can mend, such as a damaged stream. */
  async run(): Promise<void> {
    try {
      await this.#open();
      await this.#recover();
      await this.#carry();
    } catch (error) {
      if (!(error instanceof LeftForLater)) throw error;
    } finally {
      this.abort();
      await Promise.allSettled(this.#inFlight);
      this.#room.leave();
      await this.#parts.line.sink.close();
      await this.#parts.source.close();
    }
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Drains what the source holds now; leaves at the latest after `limit` milliseconds. `run` resolves then. */
  stop(limit: number): void {
    this.#lastToRead = this.#parts.source.end;
    this.#drain.abort();
    setTimeout(() => this.abort(), limit).unref();
  }

  /** Leaves at once. */
  abort(): void {
    this.#leave.abort();
    this.#drain.abort();
  }

  async #open(): Promise<void> {
    const { line, pipeline_id, telemetry } = this.#parts;
    for (let attempt = 1; ; attempt += 1) {
      const answer = await line.sink.open(this.#leave.signal);
      this.#leaveIfAborted();
      if (answer.kind === "ok") break;
      if (this.#drain.signal.aborted) throw new LeftForLater(answer.failure.text);
      await this.#room.wait(answer.failure, attempt, this.#drain.signal);
    }
    this.#room.leave();
    if (line.sink.atLeastOnce !== undefined) telemetry.atLeastOnce({ pipeline_id, reason: line.sink.atLeastOnce });
  }

  async #recover(): Promise<void> {
    const { pipeline_id, journal, line, telemetry } = this.#parts;
    for (const pending of journal.pending(pipeline_id)) {
      const isStale = pending.heard === "refused" && pending.revision !== line.revision;
      const recordLine = isStale || pending.revision === line.revision ? line : this.#parts.lineOf(pending.revision);
      const assembly = await this.#assembleAgain(pending, recordLine);
      const settlement = recordLine === line ? this.#settlement : this.#settle(recordLine);
      const underway = isStale
        ? await this.#reprepare(pending, assembly)
        : { record: pending, assembly, block: assembly.encode(settledPositions(pending)), isReplay: true };
      telemetry.batchReplayed({ pipeline_id, batch: pending.batch, rows: underway.record.rows });
      await this.#send(underway, settlement);
    }
  }

  /** Reads exactly the recorded ranges and transforms them again, at the recorded time. */
  async #assembleAgain({ range, clock, pipeline_id }: BatchRecord, line: Line): Promise<Assembly> {
    const assembly = new Assembly(line, clock, this.#parts.maxAge, pipeline_id, this.#parts.telemetry);
    let position = range.first;
    while (position <= range.last) {
      const events = await this.#parts.source.read(position, readEvents, readBytes);
      const inside = events.filter((event) => event.position <= range.last);
      if (inside.length === 0) break;
      assembly.add(inside);
      position = inside.at(-1)!.position + 1;
    }
    return assembly;
  }

  /** A batch that met only refusals is made again by the current revision: one write replaces its record. */
  async #reprepare(stale: BatchRecord, assembly: Assembly): Promise<Underway> {
    const { pipeline_id, line, telemetry } = this.#parts;
    const { batch, range, revision } = stale;
    telemetry.batchReprepared({ pipeline_id, batch, from: revision, to: line.revision });
    const underway = this.#underway(assembly, batch);
    return { ...underway, record: await this.#settlement.prepare({ ...underway.record, range }) };
  }

  async #carry(): Promise<void> {
    for (;;) {
      const assembly = await this.#assemble();
      if (assembly === undefined) break;
      this.#position = assembly.range.last + 1;
      const underway = this.#underway(assembly, this.#batch);
      this.#batch += 1;
      // A batch without rows goes straight to its commit, which is one write too.
      if (underway.record.rows > 0) await this.#settlement.prepare(underway.record);
      await this.#send(underway, this.#settlement);
    }
    await this.#committed;
  }

  /** The next batch: full, or its oldest event as old as the delay allows. Undefined when a drain has nothing left. */
  async #assemble(): Promise<Assembly | undefined> {
    const { source, line, maxAge, pipeline_id, telemetry, sinkConfig } = this.#parts;
    const assembly = new Assembly(line, Date.now(), maxAge, pipeline_id, telemetry);
    let position = this.#position;
    let due: number | undefined;
    while (!isFull(assembly, sinkConfig.max_batch_size) && (due === undefined || Date.now() < due)) {
      this.#leaveIfAborted();
      const limit = Math.min(sinkConfig.max_batch_size - assembly.rows, readEvents);
      const read = position > this.#lastToRead ? [] : await source.read(position, limit, readBytes);
      const events = read.filter((event) => event.position <= this.#lastToRead);
      if (events.length > 0) {
        assembly.add(events);
        position = events.at(-1)!.position + 1;
        due ??= Date.now() + this.#delay;
        continue;
      }
      if (this.#drain.signal.aborted) break;
      await source.wait(position, due, this.#drain.signal);
    }
    if (assembly.count === 0) return undefined;
    if (assembly.aged > 0) telemetry.agedOut({ pipeline_id, count: assembly.aged });
    telemetry.eventsRead({ pipeline_id, count: assembly.count, bytes: assembly.bytes });
    return assembly;
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
    const sent = this.#insertAndCommit(underway, settlement, this.#committed);
    this.#committed = sent;
    this.#inFlight.add(sent);
    sent.then(
      () => this.#inFlight.delete(sent),
      (error: unknown) => {
        if (error instanceof Error && !(error instanceof LeftForLater)) this.#failure ??= error;
        this.abort();
      },
    );
    while (this.#inFlight.size >= this.#parts.replicas) await Promise.race(this.#inFlight);
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

  #settle(line: Line): Settlement {
    const { pipeline_id, journal, telemetry } = this.#parts;
    return new Settlement(line, {
      pipeline_id,
      journal,
      telemetry,
      room: this.#room,
      leave: this.#leave.signal,
      drain: this.#drain.signal,
    });
  }

  #leaveIfAborted(): void {
    if (this.#leave.signal.aborted) throw new LeftForLater("the pipeline leaves");
  }
}

function isFull(assembly: Assembly, rows: number): boolean {
  return assembly.rows >= rows || assembly.count >= batchEvents || assembly.bytes >= batchBytes;
}
