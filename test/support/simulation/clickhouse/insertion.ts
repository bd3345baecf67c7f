import type { Draw } from "../network.ts";
import { ServerGone } from "./answer.ts";
import type { Row } from "./column-values.ts";
import { serverError } from "./errors.ts";
import type { SimulatedTable, View } from "./table.ts";
import type { WriteContext } from "./table-options.ts";

/** What an insert brings besides its rows. */
export interface InsertOptions {
  context: WriteContext;
  /** `max_partitions_per_insert_block`; 0 for no limit. */
  mostPartitions: number;
  ignoresViews: boolean;
  /** Is told what became of it that a sink cannot see. */
  onEffect?: (effect: InsertEffect) => void;
}

export type InsertEffect = "error when all was written" | "view failed" | "view completed by a repeat";

/** A table that is written, with what its blocks are known by. */
interface Into {
  table: SimulatedTable;
  context: WriteContext;
}

/**
 * An error in the middle: after so many partitions, before the first one, or, as limits of time are looked at once more,
 * when everything is written.
 */
export interface Interruption {
  error: Error;
  after: number;
}

/** How an insert goes on between two parts. */
export interface Pace {
  draw: Draw;
  /** Lets a little time pass, or none. Throws `ServerGone` where the server was killed meanwhile. */
  pause(): Promise<void>;
}

/**
 * One insert of one block: checked as a whole, then written one partition after another, then passed to the views. What
 * a killed server leaves of it is drawn.
 */
export class Insertion {
  readonly #table: SimulatedTable;
  readonly #rows: readonly Row[];
  readonly #options: InsertOptions;
  /** What is being written at the moment. */
  #current: { into: Into; partition: string; rows: readonly Row[] } | undefined;

  constructor(table: SimulatedTable, rows: readonly Row[], options: InsertOptions) {
    this.#table = table;
    this.#rows = rows;
    this.#options = options;
  }

  /** Throws the server's error, `ServerGone`, or the error of the interruption. */
  async run(pace: Pace, interruption?: Interruption): Promise<void> {
    const into = { table: this.#table, context: this.#options.context };
    const [written, inViews] = [this.#table.written, writtenToViews(this.#table)];
    await this.#fill(into, this.#rows, pace, interruption);
    await this.#fillViews(into, this.#rows, pace);
    const isRepeat = this.#table.written === written;
    if (isRepeat && writtenToViews(this.#table) > inViews) this.#options.onEffect?.("view completed by a repeat");
  }

  /** The server is killed now: nothing of the current partition is there, or its key alone, or all of it. */
  kill(draw: Draw): void {
    if (this.#current === undefined) return;
    const { into, partition, rows } = this.#current;
    const { table, context } = into;
    const left = draw(table.isReplicated ? 2 : 3);
    if (left === 1) table.write(partition, rows, context);
    if (left === 2) table.noteWithoutPart(partition, context);
  }

  async #fill(into: Into, rows: readonly Row[], pace: Pace, interruption?: Interruption): Promise<void> {
    const { table, context } = into;
    checkConstraints(table, rows);
    const partitions = this.#partitionsOf(table, rows);
    const stop = interruption && Math.min(interruption.after, partitions.size);
    let done = 0;
    for (const [partition, part] of partitions) {
      if (done === stop) throw interruption!.error;
      failIndex(table, part);
      this.#current = { into, partition, rows: part };
      table.begin();
      await pace.pause();
      table.write(partition, part, context);
      this.#current = undefined;
      done += 1;
    }
    if (done !== stop) return;
    this.#options.onEffect?.("error when all was written");
    throw interruption!.error;
  }

  /** The first error of a view ends the insert; whether the views after it are filled is drawn. */
  async #fillViews({ table, context }: Into, rows: readonly Row[], pace: Pace): Promise<void> {
    let failed: Error | undefined;
    for (const view of table.views) {
      if (failed !== undefined && pace.draw(2) === 0) break;
      try {
        await this.#fillView(view, context, rows, pace);
      } catch (error) {
        if (error instanceof ServerGone) throw error;
        this.#options.onEffect?.("view failed");
        failed ??= error as Error;
      }
    }
    if (failed !== undefined && !this.#options.ignoresViews) throw failed;
  }

  /** Fills what a view writes to, and the views that hang on that. */
  async #fillView(view: View, context: WriteContext, rows: readonly Row[], pace: Pace): Promise<void> {
    const pushing = `: while pushing to view ${view.database}.${view.name}`;
    if (view.broken !== undefined && rows.some(view.broken.fails)) {
      throw serverError(view.broken.code, `The view fails for a row${pushing}.`);
    }
    const into = { table: view.to, context: { ...context, identity: view.identityOf(context.identity) } };
    const selected = rows.map((row) => view.select(row));
    try {
      await this.#fill(into, selected, pace);
      await this.#fillViews(into, selected, pace);
    } catch (error) {
      if (!(error instanceof ServerGone) && error instanceof Error) error.message += pushing;
      throw error;
    }
  }

  /** The rows of each partition. Throws the server's error where these are too many. */
  #partitionsOf(table: SimulatedTable, rows: readonly Row[]): Map<string, Row[]> {
    const partitions = table.split(rows);
    const { mostPartitions } = this.#options;
    if (mostPartitions > 0 && partitions.size > mostPartitions) {
      throw serverError(
        252,
        `Too many partitions for single INSERT block (more than ${mostPartitions}). The limit is controlled by 'max_partitions_per_insert_block' setting`,
      );
    }
    return partitions;
  }
}

/** Blocks that views on a table have written. */
function writtenToViews({ views }: SimulatedTable): number {
  return views.reduce((sum, { to }) => sum + to.written, 0);
}

function checkConstraints(table: SimulatedTable, rows: readonly Row[]): void {
  for (const { name, expression, holds } of table.options.constraints ?? []) {
    const row = rows.findIndex((each) => !holds(each));
    if (row === -1) continue;
    throw serverError(
      469,
      `Constraint \`${name}\` for table ${table.database}.${table.name} (${table.uuid}) is violated at row ${row + 1}. Expression: (${expression}). Column values: ${JSON.stringify(rows[row])}.`,
    );
  }
}

function failIndex({ options }: SimulatedTable, rows: readonly Row[]): void {
  const index = options.brokenIndex;
  if (index !== undefined && rows.some(index.fails)) {
    throw serverError(index.code, "An index of the table fails for a value.");
  }
}
