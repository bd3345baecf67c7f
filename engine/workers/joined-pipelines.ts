import type { LetterEvent } from "../core/dead-letter.ts";
import { Pipeline, type PipelineOptions } from "../delivery/pipeline.ts";
import { joinedOrigin, type JoinedSource } from "../join/joined-source.ts";
import type { OpenJoin } from "../join/open-join.ts";

export interface JoinedPipelinesOptions {
  /** Of the events of both sides, into the join. */
  sides: PipelineOptions;
  /** Of the rows of the join, to the table. */
  rows: Omit<PipelineOptions, "source"> & { source: JoinedSource };
  join: OpenJoin;
}

/** What runs a pipeline. */
export type RunnablePipeline = Pick<Pipeline, "run" | "stop" | "abort" | "reprocess">;

/**
 * A pipeline with a join is two pipelines with one journal: one takes the events of both sides into the join, the other
 * one takes the rows of the join to the table. Each delivers as any pipeline does, so what holds for events and their table
 * holds for the sides and their join, and for the rows and their table.
 */
export class JoinedPipelines implements RunnablePipeline {
  readonly #sides: Pipeline;
  readonly #rows: Pipeline;
  readonly #join: OpenJoin;
  /** When a drain has to end, by the monotonic clock in milliseconds; undefined before it stops. */
  #end: number | undefined;

  constructor({ sides, rows, join }: JoinedPipelinesOptions) {
    this.#sides = new Pipeline(sides);
    this.#rows = new Pipeline(rows);
    this.#join = join;
  }

  async run(): Promise<void> {
    const rows = this.#rows.run();
    // The one never runs without the other. A rejection is never without a handler.
    const abort = (): void => this.#sides.abort();
    rows.then(abort, abort);
    try {
      await this.#sides.run();
      // No row comes any more: those that are there are written, unless it leaves at once.
      this.#rows.stop(Math.max(0, (this.#end ?? 0) - performance.now()));
    } catch (error) {
      this.#rows.abort();
      throw error;
    } finally {
      await rows.catch(() => undefined);
      await this.#join.close();
    }
    await rows;
  }

  stop(limit: number): void {
    this.#end = performance.now() + limit;
    this.#sides.stop(limit);
  }

  abort(): void {
    this.#sides.abort();
    this.#rows.abort();
  }

  /** Letters of rows are sent to the table again, all others into their side. */
  async reprocess(letters: readonly LetterEvent[]): Promise<void> {
    const ofRows = letters.filter(({ origin }) => origin === joinedOrigin);
    const ofSides = letters.filter(({ origin }) => origin !== joinedOrigin);
    if (ofSides.length > 0) await this.#sides.reprocess(ofSides);
    if (ofRows.length > 0) await this.#rows.reprocess(ofRows);
  }
}
