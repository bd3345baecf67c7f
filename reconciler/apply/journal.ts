import { join } from "node:path";
import { LineFile } from "./line-file.ts";
import { addLine } from "./operation.ts";
import type { Operation, OperationLine } from "./operation.ts";

/** The journal is rewritten when it has this many lines for each open operation. */
const linesPerOperation = 200;

/**
 * The journal of open operations, `<data-dir>/operations.ndjson`: a line before each lifecycle call names it, a line
 * after it has its result. Empty while no operation is open. After a crash it shows which call was being made; the
 * state of the engine shows whether that call had its effect.
 */
export class Journal {
  readonly #file: LineFile;
  readonly #open: Map<number, Operation>;
  #lines: number;
  /** The highest number that an operation ever had here. */
  #last: number;
  /** A write failed, so that lines are missing in the file. */
  #isBehind = false;

  private constructor(file: LineFile, open: Map<number, Operation>, lines: number) {
    this.#file = file;
    this.#open = open;
    this.#lines = lines;
    this.#last = Math.max(0, ...open.keys());
  }

  /**
   * Reads the file, or begins without one. No call follows a last line that was cut off, so it is dropped. Any other
   * damaged line is an error: without it, an open operation would be forgotten.
   */
  static read(dataDir: string): Journal {
    const path = join(dataDir, "operations.ndjson");
    const { file, lines } = LineFile.read(path);
    const open = new Map<number, Operation>();
    for (const [index, line] of lines.entries()) {
      try {
        addLine(open, parse(line));
      } catch (error) {
        throw new Error(
          `${path}:${index + 1}: expected a line of the journal of operations, found one that is damaged ` +
            `(${(error as Error).message}); restore the file from a backup, or remove it: everything is then planned from ` +
            `the state of the engine, and a pipeline that was stopped for a change which no file asks for any more stays stopped`,
          { cause: error },
        );
      }
    }
    const journal = new Journal(file, open, lines.length);
    // The process that made these calls has ended.
    for (const operation of open.values()) {
      if (operation.lastAttempt === undefined)
        void journal.say({ op: operation.id, says: "interrupted" }).catch(() => undefined);
    }
    return journal;
  }

  get open(): ReadonlyMap<number, Operation> {
    return this.#open;
  }

  get last(): number {
    return this.#last;
  }

  /** Applies a line at once; resolves when it is durable. */
  say(line: Said): Promise<void> {
    const dated: OperationLine = { ...line, at: new Date().toISOString() };
    addLine(this.#open, dated);
    this.#last = Math.max(this.#last, dated.op);
    this.#lines += 1;
    const isShort = this.#lines <= linesPerOperation * (this.#open.size + 1);
    return this.#written(
      isShort && this.#open.size > 0 && !this.#isBehind ? this.#file.append(dated) : this.#anew(dated.at),
    );
  }

  #anew(at: string): Promise<void> {
    const snapshots = [...this.#open.values()].map((operation): OperationLine => ({
      op: operation.id,
      at,
      says: "snapshot",
      operation,
    }));
    this.#lines = snapshots.length;
    this.#isBehind = false;
    return this.#file.replace(snapshots);
  }

  async #written(writing: Promise<void>): Promise<void> {
    try {
      await writing;
    } catch (error) {
      this.#isBehind = true;
      throw error;
    }
  }
}

type WithoutTime<Line> = Line extends OperationLine ? Omit<Line, "at"> : never;

/** A line before it has its time. */
export type Said = WithoutTime<OperationLine>;

function parse(text: string): OperationLine {
  const line = JSON.parse(text) as Partial<OperationLine> | null;
  if (typeof line !== "object" || typeof line?.op !== "number" || typeof line.says !== "string")
    throw new TypeError("it names no operation");
  return upgraded(line as OldLine);
}

/** Names that lines and operations had in earlier versions. */
const renamed: Readonly<Record<string, OperationLine["says"]>> = {
  stands: "snapshot",
  rests: "attempt-failed",
  back: "resumed",
};

type OldLine = OperationLine & { operation?: Operation & { rests?: Operation["lastAttempt"] } };

function upgraded(line: OldLine): OperationLine {
  const says = renamed[line.says] ?? line.says;
  if (line.operation?.rests === undefined) return { ...line, says } as OperationLine;
  const { rests, ...operation } = line.operation;
  return { ...line, says, operation: { ...operation, lastAttempt: rests } } as OperationLine;
}
