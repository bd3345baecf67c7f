import { expect } from "vitest";
import type { Disk } from "../../../engine/core/disk.ts";
import { ArrivalWriter } from "../../../engine/join/arrivals.ts";
import type { Side } from "../../../engine/join/buffered-events.ts";
import { TemporalJoin } from "../../../engine/join/temporal-join.ts";
import { Fingerprints } from "../../../engine/keys/fingerprint.ts";
import { JoinModel, type ModelArrival } from "../model/join.ts";
import { Random } from "../random.ts";
import { SimulatedDisk, type DiskCall, type DiskFault } from "./disk.ts";
import { quiet } from "./stream-folder.ts";

/** What happens to a join. */
export type JoinHappening =
  /** A batch of its sides, `after` so many milliseconds, which may be negative. With `crash`, the power goes after so many microtasks. */
  | { kind: "step"; after: number; events: { side: Side; key: number; size: number }[]; crash?: number | undefined }
  /** A part of the rows is in the table, in thousandths of those that are not. */
  | { kind: "settle"; part: number }
  | { kind: "reclaim"; crash?: number | undefined }
  | { kind: "reopen" }
  /** The pipeline is edited: the join has other windows from then on. */
  | { kind: "edit"; windows: Readonly<Record<Side, number>> }
  | { kind: "crash" }
  /** One bit of the newest file is wrong at a start, and right again at the next. `bit` is a part, in thousandths. */
  | { kind: "flip"; bit: number }
  | { kind: "fault"; call: DiskCall; kth: number; fault: DiskFault };

const path = "/data/pipelines/p/join";
const fields = (name: string) => [{ name: "value", output_name: name }];
const prints = new Fingerprints(Buffer.alloc(16, 7));
/** Attempts of one step or one opening, of which each fault spoils at most one. */
const attempts = 200;

/** As `shapeOf` of the engine: another one for other windows. */
function shapeOf({ left, right }: Readonly<Record<Side, number>>): string {
  return `${left.toString(16).padStart(16, "a")}${right.toString(16).padStart(16, "b")}`;
}

interface Batch {
  token: string;
  clock: number;
  arrivals: (ModelArrival & { size: number })[];
}

/**
 * A join on a simulated disk beside its model. The story keeps what the journal would: the batch that is not committed yet,
 * which is made again after a crash, and how far the rows are settled.
 */
export class JoinStory {
  readonly disk: SimulatedDisk;
  readonly model: JoinModel;
  readonly #sabotage: (disk: Disk) => Disk;
  #join!: TemporalJoin;
  #clock = 1_800_000_000_000;
  #settled = 0;
  /** The batch in the journal, which is not committed. */
  #pending: Batch | undefined;
  #count = 0;

  constructor(seed: number, windows: Readonly<Record<Side, number>>, sabotage: (disk: Disk) => Disk = (disk) => disk) {
    const random = new Random(seed);
    this.disk = new SimulatedDisk((n) => random.below(n));
    this.model = new JoinModel(windows);
    this.#sabotage = sabotage;
  }

  async begin(): Promise<void> {
    await this.disk.boot().mkdir("/data");
    await this.disk.boot().syncFolder("/");
    await this.#open();
  }

  async let(happening: JoinHappening): Promise<void> {
    switch (happening.kind) {
      case "step":
        await this.#step(happening);
        break;
      case "settle":
        this.#settled += Math.floor(((this.model.rows.length - this.#settled) * happening.part) / 1000);
        this.#join.trim(this.#settled);
        break;
      case "reclaim":
        if (happening.crash === undefined) await this.#join.reclaim().catch(() => undefined);
        else await this.#crashWithin(this.#join.reclaim(), happening.crash);
        break;
      case "reopen":
        this.disk.heal();
        await this.#join.close();
        await this.#open();
        break;
      case "edit":
        await this.#edit(happening.windows);
        break;
      case "crash":
        this.disk.crash();
        await this.#open();
        break;
      case "flip":
        await this.#flip(happening.bit);
        break;
      default:
        this.disk.fail(happening.call, happening.kth, happening.fault);
    }
  }

  /** Everything is read, settled and removed. */
  async end(): Promise<void> {
    this.disk.heal();
    await this.#readRows();
    await this.let({ kind: "crash" });
    await this.#readRows();
    this.#expectHeld();
    await this.let({ kind: "settle", part: 1000 });
    await this.#join.close();
    expect(this.disk.handles, "open files").toEqual([]);
  }

  /** A start beside a flipped bit fails, or knows each row and each buffered event. */
  async #flip(part: number): Promise<void> {
    this.disk.heal();
    await this.#join.close();
    const names = (await this.disk.boot().readdir(path)).filter((name) => name.endsWith(".join"));
    const newest = `${path}/${names.toSorted().at(-1)}`;
    const bit = Math.floor((8 * this.disk.contentOf(newest).length * part) / 1000);
    this.disk.flip(newest, bit);
    const isOpen = await this.#open().then(
      () => true,
      (error: unknown) => {
        expect(error).toMatchObject({ code: "STORAGE_FAILED" });
        return false;
      },
    );
    if (isOpen) {
      expect(this.#join.lastRow, "rows").toBe(this.model.rows.length);
      this.#expectHeld();
      await this.#join.close();
    }
    this.disk.flip(newest, bit);
    await this.#open();
  }

  async #edit(windows: Readonly<Record<Side, number>>): Promise<void> {
    this.disk.heal();
    await this.#join.close();
    const isSame = windows.left === this.model.windows.left && windows.right === this.model.windows.right;
    if (!isSame) this.model.edit(windows);
    await this.#open();
    this.#expectHeld();
  }

  async #step({ after, events, crash }: Extract<JoinHappening, { kind: "step" }>): Promise<void> {
    this.#clock += after;
    const arrivals = events.map(({ side, key, size }) => ({ side, key: `k${key}`, value: (this.#count += 1), size }));
    const batch: Batch = { token: (this.#count + 1e9).toString(16).padStart(32, "a"), clock: this.#clock, arrivals };
    this.model.step(this.#clock, arrivals);
    this.#pending = batch;
    if (crash !== undefined) await this.#crashWithin(this.#made(batch), crash);
    // The batch is in the journal until its step is durable. Windows end and rows are settled meanwhile, which frees files.
    await this.#tried(
      () => this.#made(batch),
      () => this.let({ kind: "reclaim" }),
    );
    await this.#reclaimedBeforeCommit(batch);
    this.#join.committed(batch.token);
    this.#pending = undefined;
    expect(this.#join.lastRow, "rows").toBe(this.model.rows.length);
    this.#expectHeld();
    if (this.#count % 7 === 0) await this.#readRows();
  }

  /**
   * Sometimes the rows are settled, and files removed, before the batch of the sides is committed; and then the power goes, so
   * that the batch is sent again.
   */
  async #reclaimedBeforeCommit(batch: Batch): Promise<void> {
    if (this.#count % 5 > 0) return;
    await this.let({ kind: "settle", part: 1000 });
    // What is moved may begin a file, and leave that of the step to the next call.
    for (let times = 0; times < 3; times += 1) await this.let({ kind: "reclaim" });
    await this.let({ kind: "crash" });
    await this.#tried(() => this.#made(batch));
  }

  #made({ token, clock, arrivals }: Batch): Promise<unknown> {
    const writer = new ArrivalWriter(clock);
    const print = new Uint32Array(4);
    for (const { side, key, value, size } of arrivals) {
      prints.of(key, print, 0);
      writer.add(side, print, Buffer.from(JSON.stringify({ value, more: "x".repeat(size) })));
    }
    return this.#join.step(token, writer.body());
  }

  async #crashWithin(work: Promise<unknown>, turns: number): Promise<void> {
    work.catch(() => undefined);
    await quiet(turns);
    this.disk.crash();
    await this.#open();
  }

  async #open(): Promise<void> {
    this.#join = await this.#tried(() =>
      TemporalJoin.open({
        disk: this.#sabotage(this.disk.boot()),
        path,
        shape: shapeOf(this.model.windows),
        trimmed: this.#settled,
        pending: this.#pending === undefined ? [] : [this.#pending.token],
        segmentBytes: 2_000,
        windows: this.model.windows,
        fields: { left: fields("left"), right: fields("right") },
      }),
    );
  }

  /** What a fault of the disk has spoiled is tried again, after `meanwhile`; damage is thrown. */
  async #tried<Result>(work: () => Promise<Result>, meanwhile?: () => Promise<void>): Promise<Result> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await work();
      } catch (error) {
        if (attempt === attempts || (error as { code?: string }).code === "STORAGE_FAILED") throw error;
        await meanwhile?.();
      }
    }
  }

  async #readRows(): Promise<void> {
    const found: string[] = [];
    for (let position = this.#settled + 1; position <= this.model.rows.length;) {
      const rows = await this.#tried(() => this.#join.rowsFrom(position));
      if (rows === undefined) break;
      for (let index = position - rows.first; index < rows.places.length - 1; index += 1) {
        const text = rows.bytes.toString("utf8", rows.places[index], rows.places[index + 1]);
        const { left, right } = JSON.parse(text) as { left: number; right: number };
        found.push(`${left}:${right}`);
        position += 1;
      }
    }
    expect(found).toEqual(this.model.rows.slice(this.#settled));
  }

  #expectHeld(): void {
    const held = [this.#join.held("left").events, this.#join.held("right").events];
    expect(held, "buffered events").toEqual([this.model.lefts.length, this.model.rights.size]);
  }
}
