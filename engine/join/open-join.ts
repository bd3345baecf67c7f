import { createHash } from "node:crypto";
import { durationMs } from "../../schemas/duration.ts";
import type { JoinConfig } from "../../schemas/pipeline.ts";
import type { Disk } from "../core/disk.ts";
import type { Source } from "../core/source.ts";
import { Arrivals } from "../flow/arrivals.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { Side } from "./buffered-events.ts";
import { JoinLog } from "./log.ts";
import { outputsOf } from "./row-fields.ts";
import { type StepResult, TemporalJoin } from "./temporal-join.ts";

export interface OpenJoinOptions {
  pipeline_id: string;
  config: JoinConfig;
  disk: Disk;
  /** The folder of its log. */
  folder: string;
  /** Rows up to this one are settled. */
  settled: number;
  /** The tokens of the batches of the sides that are not committed yet. */
  pending: readonly string[];
  /** The batch clock, in milliseconds since the epoch. */
  now: () => number;
  /** The most memory of its index, and the most that its files may take, in bytes. */
  limits: { memory: number; storage: number };
  telemetry: Telemetry;
  /** What it holds is reported at most so often, in milliseconds; with 0 at each step. */
  reportEvery?: number | undefined;
}

/** Rows that wait for the table: beyond these no event of the sides is read. */
const mostWaiting = 500_000;
/** While no event comes, windows are ended so often, in milliseconds. */
const idleEvery = 5_000;
/** What it holds is reported at most so often, in milliseconds, where nothing else is said. */
const defaultReportEvery = 500;

/**
 * The join of a pipeline while that runs: opened with the first call that needs it, and again after a failure of the disk.
 */
export class OpenJoin {
  readonly #options: OpenJoinOptions;
  /** Called when there are new rows. */
  onRows: () => void = () => undefined;
  #opening: Promise<TemporalJoin> | undefined;
  #join: TemporalJoin | undefined;
  readonly #room = new Arrivals();
  #reporting: NodeJS.Timeout | undefined;
  #since: { rows: number } & Record<Side, number> = { rows: 0, left: 0, right: 0 };

  constructor(options: OpenJoinOptions) {
    this.#options = options;
  }

  /** The join, opened. Throws EngineError as `TemporalJoin.open`. */
  readonly open = (): Promise<TemporalJoin> => {
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  };

  /** A step is durable. */
  readonly stepped = ({ rows, unmatched }: StepResult): void => {
    this.#since.rows += rows;
    this.#since.left += unmatched.left;
    this.#since.right += unmatched.right;
    if (rows > 0) this.onRows();
    this.#reportSoon();
    if (unmatched.left + unmatched.right > 0) this.#reclaim();
  };

  /** A batch of the sides is committed or given up. */
  committed({ token }: { token: string }): void {
    this.#join?.committed(token);
  }

  /** Rows are in the table: their files may be removed. */
  readonly settled = (): void => {
    this.#room.came();
    this.#reportSoon();
    this.#reclaim();
  };

  /**
   * Ends the windows of the time before any batch that comes; resolves with why none may begin, while index or files
   * are at their limit.
   */
  readonly beforeBatch = async (oldest: number): Promise<{ text: string; way_out: string } | undefined> => {
    const join = await this.open();
    await this.#expire(join, oldest);
    const { memory, storage } = this.#options.limits;
    if (join.memory < memory && join.bytes < storage) return undefined;
    this.#reclaim();
    const events = join.held("left").events + join.held("right").events;
    return fullPause({ events, memory: join.memory, storage: join.bytes }, this.#options.limits);
  };

  /** A source of the sides that is not read while too many rows wait for the table. */
  limited(source: Source): Source {
    return new Proxy(source, {
      get: (target, name) => {
        if (name === "next") {
          return async (...given: Parameters<Source["next"]>) => (this.#hasRoom ? target.next(...given) : []);
        }
        if (name === "wait") {
          return async (...[count, until, signal]: Parameters<Source["wait"]>) => {
            // Without a time at which a batch is due none has begun, and none that comes is earlier than now.
            const idle =
              until === undefined ? setInterval(() => void this.#expireIdle(), idleEvery).unref() : undefined;
            try {
              await this.#room.wait(() => this.#hasRoom, until, signal);
              if (this.#hasRoom) await target.wait(count, until, signal);
            } finally {
              clearInterval(idle);
            }
          };
        }
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? (value as (...given: unknown[]) => unknown).bind(target) : value;
      },
    });
  }

  /** The newest row that was not dropped; 0 before the first, and before the join is open. */
  get newestRow(): number {
    return this.#join?.newestRow ?? 0;
  }

  async close(): Promise<void> {
    const join = await this.#opening?.catch(() => undefined);
    if (join === undefined) return;
    clearTimeout(this.#reporting);
    this.#report();
    await join.close();
  }

  async #expireIdle(): Promise<void> {
    if (this.#join !== undefined) await this.#expire(this.#join, this.#options.now());
  }

  async #expire(join: TemporalJoin, clock: number): Promise<void> {
    const { left, right } = await join.expire(clock);
    if (left + right === 0) return;
    this.#since.left += left;
    this.#since.right += right;
    this.#reportSoon();
    this.#reclaim();
  }

  /** Frees what is not needed any more. What fails is done with a later call. */
  #reclaim(): void {
    void this.#join?.reclaim().catch(() => undefined);
  }

  get #hasRoom(): boolean {
    return this.#join === undefined || this.#join.waitingRows < mostWaiting;
  }

  async #open(): Promise<TemporalJoin> {
    const { pipeline_id, config, disk, folder: path, settled: trimmed, pending, telemetry } = this.#options;
    const { left_source: left, right_source: right } = config;
    const join = await TemporalJoin.open({
      disk,
      path,
      trimmed,
      pending,
      shape: shapeOf(config),
      windows: { left: durationMs(left.time_window), right: durationMs(right.time_window) },
      fields: { left: outputsOf(config, left.source_id), right: outputsOf(config, right.source_id) },
    });
    if (join.forgotten > 0) telemetry.joinForgot({ pipeline_id, events: join.forgotten });
    this.#join = join;
    this.#report();
    return join;
  }

  #reportSoon(): void {
    const { reportEvery = defaultReportEvery } = this.#options;
    if (reportEvery === 0) this.#report();
    else this.#reporting ??= setTimeout(() => this.#report(), reportEvery).unref();
  }

  #report(): void {
    const join = this.#join!;
    this.#reporting = undefined;
    const { rows, left, right } = this.#since;
    this.#since = { rows: 0, left: 0, right: 0 };
    const { oldestRow } = join;
    this.#options.telemetry.joined({
      pipeline_id: this.#options.pipeline_id,
      rows,
      waiting: join.waitingRows,
      ...(oldestRow !== undefined && { oldest: oldestRow }),
      memory: join.memory,
      storage: join.bytes,
      left: { ...join.held("left"), unmatched: left },
      right: { ...join.held("right"), unmatched: right },
    });
  }
}

const way_out =
  "it goes on by itself as windows end and rows reach the table; more limits.memory or storage.size for the transforms of its sources makes room at once";

/** The pause while what a join buffers is at one of its limits; in bytes, but for the number of events. */
export function fullPause(
  { events, memory, storage }: { events: number; memory: number; storage: number },
  limits: OpenJoinOptions["limits"],
): { text: string; way_out: string } {
  const text = `the join buffers ${events} events: its index takes ${memory} of ${limits.memory} bytes of memory, its files ${storage} of ${limits.storage} bytes`;
  return { text, way_out };
}

/**
 * Drops what a join buffers, and the rows that no pending batch names: those after `named`. For a pipeline at rest that is
 * terminated. Throws EngineError as `JoinLog.open`.
 */
export async function dropJoin(disk: Disk, folder: string, named: number): Promise<void> {
  const { log } = await JoinLog.open(disk, folder, { shape: "0".repeat(32), trimmed: 0, pending: [] }, unread);
  try {
    await log.drop(named);
  } finally {
    await log.close();
  }
}

const unread = { step: () => undefined, entry: () => undefined };

/** Identifies what decides which events match: events that were buffered under another one do not count. */
export function shapeOf({ left_source, right_source }: JoinConfig): string {
  const sides = [left_source, right_source].map(({ source_id, key, time_window }) => [source_id, key, time_window]);
  return createHash("sha256").update(JSON.stringify(sides)).digest("hex").slice(0, 32);
}
