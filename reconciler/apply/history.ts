import { join } from "node:path";
import type { AppliedBefore } from "../actual/inventory.ts";
import { LineFile } from "./line-file.ts";
import type { Call } from "../plan/calls.ts";
import type { Origin, Operation, Predicted } from "./operation.ts";
import type { Outcome, OutcomeResult } from "./outcome.ts";

/** Records that are kept of one pipeline, and of all. */
const ofOne = 50;
const ofAll = 5_000;

/** A page of records, and where the next page begins. */
export interface HistoryPage {
  /** Newest first. */
  records: OperationRecord[];
  /** Absent on the last page. */
  next_cursor?: string;
}

export interface PageRequest {
  /** Of one pipeline alone. */
  pipeline_id?: string;
  limit: number;
  /** The `next_cursor` of an earlier page. */
  cursor?: string;
}

/**
 * The completed operations of all pipelines, in `<data-dir>/history.ndjson`: the newest records of each pipeline, and
 * of all. Those of a pipeline that was deleted stay until they are the oldest of all. A line that cannot be parsed is
 * left out: a damaged history must not keep Sluice from starting.
 */
export class OperationHistory {
  readonly #file: LineFile;
  /** By id, in their order. */
  readonly #records = new Map<number, OperationRecord>();
  #lines: number;

  private constructor(file: LineFile, lines: readonly string[]) {
    this.#file = file;
    this.#lines = lines.length;
    for (const line of lines) {
      const record = parse(line);
      if (record !== undefined) this.#records.set(record.id, record);
    }
    const ids = new Set([...this.#records.values()].map(({ pipeline_id }) => pipeline_id));
    for (const id of ids) this.#forget(id);
  }

  static read(dataDir: string): OperationHistory {
    const { file, lines } = LineFile.read(join(dataDir, "history.ndjson"));
    return new OperationHistory(file, lines);
  }

  /** The highest id. */
  get last(): number {
    return Math.max(0, ...this.#records.keys());
  }

  /** What pipelines were as before, also by former ids, the oldest first; also of those that were deleted. */
  get appliedBefore(): ReadonlyMap<string, AppliedBefore[]> {
    const found = new Map<string, AppliedBefore[]>();
    for (const record of this.#records.values()) {
      const { pipeline_id, moved_from = pipeline_id, before } = record;
      const all = [...(found.get(moved_from) ?? []), ...(before === undefined ? [] : [before])];
      // What it was goes with it: another pipeline that gets the former id was nothing of that.
      const isMoved = moved_from !== pipeline_id && hasMoved(record);
      if (isMoved) found.delete(moved_from);
      const id = isMoved ? pipeline_id : moved_from;
      if (all.length > 0) found.set(id, all);
      else found.delete(id);
    }
    return found;
  }

  get(id: number): OperationRecord | undefined {
    return this.#records.get(id);
  }

  /** Adds a record, or puts it in the place of an earlier one of the same operation. Resolves when it is durable. */
  put(record: OperationRecord): Promise<void> {
    this.#records.set(record.id, record);
    this.#forget(record.pipeline_id);
    this.#lines += 1;
    if (this.#lines <= 2 * this.#records.size + ofOne) return this.#file.append(record);
    this.#lines = this.#records.size;
    return this.#file.replace([...this.#records.values()]);
  }

  page({ pipeline_id, limit, cursor }: PageRequest): HistoryPage {
    const before = cursor === undefined ? Infinity : Number(cursor);
    const all = [...this.#records.values()].toSorted((a, b) => b.id - a.id);
    const found = (pipeline_id === undefined ? all : ofPipeline(all, pipeline_id)).filter(({ id }) => id < before);
    const records = found.slice(0, limit);
    const last = records.at(-1);
    return { records, ...(found.length > limit && last !== undefined && { next_cursor: String(last.id) }) };
  }

  #forget(pipeline_id: string): void {
    const own = [...this.#records.values()].filter((one) => one.pipeline_id === pipeline_id);
    for (const { id } of own.toSorted((a, b) => b.id - a.id).slice(ofOne)) this.#records.delete(id);
    for (const id of this.#records.keys()) {
      if (this.#records.size <= ofAll) return;
      this.#records.delete(id);
    }
  }
}

/** The records of a pipeline, newest first: those from before it was moved have the id that it had then. */
function ofPipeline(all: readonly OperationRecord[], pipeline_id: string): OperationRecord[] {
  let id = pipeline_id;
  return all.filter((one) => {
    if (one.pipeline_id !== id) return false;
    if (one.moved_from !== undefined && hasMoved(one)) id = one.moved_from;
    return true;
  });
}

/** The call may have been cut off, and not be made again since it had its effect. */
function hasMoved({ result, measured }: OperationRecord): boolean {
  return result === "applied" || measured.calls.some((made) => made.call === "move" && made.result === "success");
}

function parse(line: string): OperationRecord | undefined {
  try {
    const record = JSON.parse(line) as Partial<OperationRecord> | null;
    const isRecord = typeof record?.id === "number" && typeof record.pipeline_id === "string";
    return isRecord && typeof record.measured === "object" ? (record as OperationRecord) : undefined;
  } catch {
    return undefined;
  }
}

/** One change of one pipeline: what was planned, and its outcome. Holds no secret. */
export interface OperationRecord extends Origin {
  /** Grows with each operation of a data dir. */
  id: number;
  pipeline_id: string;
  /** The id from which it was moved; absent where it was not. What happened before is recorded by that id. */
  moved_from?: string;
  plan: Predicted;
  /** Absent where the pipeline was never as a file said, and in records of earlier versions. */
  before?: AppliedBefore;
  /** ISO 8601, UTC. */
  began: string;
  /** When it ended, or its last try did. */
  ended: string;
  result: OutcomeResult;
  message?: string;
  measured: Measured;
  /** How often the process ended during the change; it was continued each time. */
  interrupted?: number;
}

/** Figures of a change, over all its tries. */
interface Measured {
  /** From the beginning of the first try to the end of the last one. */
  seconds: number;
  /**
   * Milliseconds from the beginning of its stop until it ran again. Absent where it was not stopped, or stays stopped.
   */
  pause_ms?: number;
  /** Events that were settled while it was being stopped. */
  events_drained: number;
  /** Dead letters that were dropped with it. Absent where that is not known, as in records of earlier versions. */
  dead_letters_dropped?: number;
  /** Calls that failed. */
  errors: number;
  /** Tries after the first one. */
  retries: number;
  /** The last calls that were made, in order. */
  calls: { call: Call; result: "success" | "error"; seconds: number }[];
}

export function recordOf(
  operation: Operation,
  { result, message }: Pick<Outcome, "result" | "message">,
  dead_letters_dropped?: number,
): OperationRecord {
  const {
    id,
    pipeline_id,
    moved_from,
    origin,
    plan,
    before,
    began,
    interruptions,
    drained,
    errors,
    tries,
    pause,
    made,
  } = operation;
  const ended = new Date();
  return {
    id,
    pipeline_id,
    ...(moved_from !== undefined && { moved_from }),
    ...origin,
    plan,
    ...(before !== undefined && { before }),
    began,
    ended: ended.toISOString(),
    result,
    ...(message !== undefined && { message: message.slice(0, longestText) }),
    measured: {
      seconds: Math.max(0, ended.getTime() - Date.parse(began)) / 1000,
      ...(pause !== undefined && { pause_ms: pause }),
      events_drained: drained,
      ...(dead_letters_dropped !== undefined && { dead_letters_dropped }),
      errors,
      retries: tries - 1 - Math.min(interruptions, tries - 1),
      calls: made,
    },
    ...(interruptions > 0 && { interrupted: interruptions }),
  };
}

/** Characters of a reason or message that are kept. */
export const longestText = 2_000;
