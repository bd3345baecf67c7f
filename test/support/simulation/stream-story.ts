import { expect } from "vitest";
import type { Disk } from "../../../engine/core/disk.ts";
import { EngineError } from "../../../engine/core/errors.ts";
import type { StreamReader } from "../../../engine/core/stream.ts";
import { EmbeddedReader } from "../../../engine/streams/embedded/embedded-reader.ts";
import { EmbeddedStream } from "../../../engine/streams/embedded/embedded-stream.ts";
import { pushOf } from "../../conformance/stream-scene.ts";
import { Random } from "../random.ts";
import { SimulatedDisk, type DiskCall, type DiskFault } from "./disk.ts";
import { quiet } from "./stream-folder.ts";

/** What happens to a stream. `turns` are microtasks that pass before the next. */
export type Happening =
  | { kind: "push"; sizes: number[]; turns: number }
  | { kind: "trim"; part: number; turns: number }
  /** With `crash`, the power goes after so many microtasks. */
  | { kind: "release"; part: number; crash?: number }
  | { kind: "reopen"; crash?: number }
  | { kind: "crash" }
  /** One bit of the newest segment is wrong at a start, and right again at the next. `bit` is a part, in thousandths. */
  | { kind: "flip"; bit: number }
  | { kind: "read"; part: number }
  | { kind: "fault"; call: DiskCall; kth: number; fault: DiskFault };

const path = "/data/pipelines/p/stream";
/** Small, so that a story has many segments. */
const sizes = { limit: 700, reclaimed: 300 };
const limits = { max_bytes: Infinity, max_msgs: Infinity };

/** An embedded stream and its reader on a simulated disk, and what must be true of them whatever happens. */
export class StreamStory {
  readonly disk: SimulatedDisk;
  /** How often a start beside a flipped bit was refused. */
  refusedStarts = 0;
  readonly #sabotage: (disk: Disk) => Disk;
  #stream!: EmbeddedStream;
  #reader!: StreamReader;
  /** Events that were answered, or found at a start, and are needed still: by sequence. */
  readonly #held = new Map<number, string>();
  /** Events whose push was refused, or that were dropped on purpose. */
  readonly #gone = new Set<string>();
  /** Events whose push has no answer yet. */
  readonly #asked = new Set<string>();
  readonly #asking = new Set<Promise<void>>();
  #trimmed = 0;
  /** The highest sequence that was ever answered or found. */
  #last = 0;
  /** A release that a crash has cut short: it is repeated. */
  #releasing: number | undefined;
  #events = 0;
  #failure: unknown;

  constructor(seed: number, sabotage: (disk: Disk) => Disk = (disk) => disk) {
    const random = new Random(seed);
    this.disk = new SimulatedDisk((n) => random.below(n));
    this.#sabotage = sabotage;
  }

  async begin(): Promise<void> {
    await this.disk.boot().mkdir("/data");
    await this.disk.boot().syncFolder("/");
    await this.#open();
  }

  async let(happening: Happening): Promise<void> {
    switch (happening.kind) {
      case "push":
        this.#push(happening.sizes);
        await quiet(happening.turns);
        break;
      case "trim":
        await this.#trim(happening);
        break;
      case "release":
        await this.#release(happening);
        break;
      case "reopen":
        await this.#reopen(happening);
        break;
      case "crash":
        await this.#crash();
        break;
      case "flip":
        await this.#flip(happening.bit);
        break;
      case "read":
        await this.#read(happening.part);
        break;
      case "fault":
        this.disk.fail(happening.call, happening.kth, happening.fault);
        break;
    }
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Ends the story: everything is answered, then settled, and nothing is left on the disk that is not needed. */
  async end(): Promise<void> {
    await this.#answered();
    await this.let({ kind: "read", part: 0 });
    await this.#crash();
    this.#trimmed = this.#last;
    this.#held.clear();
    await this.#stream.trim(this.#trimmed);
    await this.#reopen({});
    const files = await this.#segments();
    expect(files).toHaveLength(1);
    expect(this.disk.contentOf(files[0]!).length).toBeLessThan(2 * sizes.limit);
    await this.#close();
    expect(this.disk.handles).toEqual([]);
  }

  #push(lengths: readonly number[]): void {
    const texts = lengths.map((length) => `event ${(this.#events += 1)}`.padEnd(length, "x"));
    for (const text of texts) this.#asked.add(text);
    const answer = this.#stream.append(pushOf(texts)).then(
      (last) => this.#stored(texts, last),
      (error: unknown) => this.#refused(texts, error),
    );
    const asking = answer
      .catch((error: unknown) => void (this.#failure ??= error))
      .finally(() => this.#asking.delete(asking));
    this.#asking.add(asking);
  }

  #stored(texts: readonly string[], last: number): void {
    const first = last - texts.length + 1;
    expect(first, "sequences never start again").toBeGreaterThan(this.#last);
    this.#last = last;
    for (const [index, text] of texts.entries()) {
      this.#asked.delete(text);
      this.#held.set(first + index, text);
    }
    this.#reader.advance(last);
  }

  #refused(texts: readonly string[], error: unknown): void {
    expect(error).toMatchObject({ policy: "retry" });
    for (const text of texts) {
      this.#asked.delete(text);
      this.#gone.add(text);
    }
  }

  /** Every push has its answer: faults pass, so that it comes. */
  async #answered(): Promise<void> {
    this.disk.heal();
    for (let turn = 0; this.#asking.size > 0; turn += 1) {
      if (turn > 2_000) throw new Error("a push is never answered");
      await quiet(20);
    }
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #trim({ part, turns }: { part: number; turns: number }): Promise<void> {
    this.#trimmed = Math.max(this.#trimmed, this.#positionAt(part));
    for (const position of this.#held.keys()) if (position <= this.#trimmed) this.#held.delete(position);
    this.#stream.trim(this.#trimmed).catch((error: unknown) => {
      if (!isPassing(error)) this.#failure ??= error;
    });
    await quiet(turns);
  }

  async #release({ part, crash }: { part: number; crash?: number }): Promise<void> {
    await this.#answered();
    await this.#closeReader();
    this.#releasing = this.#positionAt(part);
    const released = this.#stream.release(this.#releasing);
    if (crash !== undefined) {
      released.catch(() => undefined);
      await quiet(crash);
      await this.#crash();
      return;
    }
    await released;
    this.#released();
    this.#openReader();
  }

  #released(): void {
    for (const [position, text] of this.#held) {
      if (position <= this.#releasing!) continue;
      this.#held.delete(position);
      this.#gone.add(text);
    }
    this.#releasing = undefined;
  }

  /** A sequence: the part (in thousandths) of those that are there. */
  #positionAt(part: number): number {
    return this.#trimmed + Math.floor(((this.#last - this.#trimmed) * part) / 1000);
  }

  async #reopen({ crash }: { crash?: number }): Promise<void> {
    if (crash === undefined) {
      await this.#answered();
      await this.#close();
      await this.#open();
    } else {
      void this.#stream.close();
      await quiet(crash);
      await this.#crash();
    }
  }

  /** A start beside a flipped bit fails, or knows each number that was given. */
  async #flip(part: number): Promise<void> {
    await this.#answered();
    await this.#close();
    const newest = (await this.#segments()).at(-1)!;
    const bit = Math.floor((8 * this.disk.contentOf(newest).length * part) / 1000);
    this.disk.flip(newest, bit);
    await this.#assertNoneMissing();
    // A start removes a segment that is settled.
    if ((await this.#segments()).includes(newest)) this.disk.flip(newest, bit);
    await this.#open();
  }

  async #assertNoneMissing(): Promise<void> {
    const disk = this.#sabotage(this.disk.boot());
    const options = { limits, trimmed: this.#trimmed, onAppended: () => undefined, sizes };
    const stream = await EmbeddedStream.open(disk, path, options).catch((error: unknown) => {
      expect(error).toMatchObject({ code: "STORAGE_FAILED" });
      this.refusedStarts += 1;
    });
    if (stream === undefined) return;
    expect(stream.state.last, "no number that was given comes again").toBeGreaterThanOrEqual(this.#last);
    await stream.close();
  }

  /** The paths of the segments, ascending. */
  async #segments(): Promise<string[]> {
    const names = await this.disk.boot().readdir(path);
    return names
      .filter((name) => name.endsWith(".segment"))
      .toSorted()
      .map((name) => `${path}/${name}`);
  }

  async #close(): Promise<void> {
    await this.#closeReader();
    await this.#stream.close();
    expect(this.disk.handles, "a closed stream has no file open").toEqual([]);
  }

  async #closeReader(): Promise<void> {
    await this.#reader.close();
  }

  async #crash(): Promise<void> {
    this.disk.crash();
    // Answers that were on their way come still; nothing else does.
    await quiet(50);
    this.#asking.clear();
    await this.#open();
  }

  async #open(): Promise<void> {
    const options = { limits, trimmed: this.#trimmed, onAppended: () => undefined, sizes, pace: () => quiet(30) };
    const disk = this.#sabotage(this.disk.boot());
    const open = (): Promise<EmbeddedStream> => EmbeddedStream.open(disk, path, options);
    this.#stream = await open().catch((error: unknown) => {
      if (!isPassing(error)) throw error;
      expect(this.disk.handles, "a stream that was not opened has no file open").toEqual([]);
      this.disk.heal();
      return open();
    });
    this.#openReader();
    if (this.#releasing !== undefined) {
      this.disk.heal();
      await this.#adopt({ isReleasing: true });
      await this.#closeReader();
      await this.#stream.release(this.#releasing);
      this.#released();
      this.#openReader();
    }
    await this.#adopt({ isReleasing: false });
  }

  #openReader(): void {
    this.#reader = new EmbeddedReader(this.#sabotage(this.disk.boot()), path, this.#stream.state.last);
  }

  /** Takes what is there after a start: everything that is needed, and what had no answer as the disk has decided. */
  async #adopt({ isReleasing }: { isReleasing: boolean }): Promise<void> {
    this.disk.heal();
    const found = await this.#all(this.#trimmed + 1);
    for (const [position, text] of found) {
      const isUnknown = this.#asked.has(text) && position > this.#last;
      if (this.#held.get(position) !== text && !isUnknown) {
        throw new Error(`sequence ${position} is "${text}": ${this.#gone.has(text) ? "it was refused" : "unexpected"}`);
      }
    }
    for (const [position, text] of this.#held) {
      if (isReleasing && position > this.#releasing!) continue;
      if (found.get(position) !== text) throw new Error(`lost: sequence ${position}, "${text}"`);
    }
    for (const [position, text] of found) this.#held.set(position, text);
    for (const position of this.#held.keys()) if (!found.has(position) && !isReleasing) this.#held.delete(position);
    for (const text of this.#asked) this.#gone.add(text);
    for (const text of found.values()) this.#gone.delete(text);
    this.#asked.clear();
    this.#last = Math.max(this.#last, ...found.keys());
    if (!isReleasing) expect(this.#stream.state.messages).toBe(found.size);
  }

  async #read(part: number): Promise<void> {
    // What is answered while it is read comes, or not.
    const expected = new Map(this.#held);
    const from = this.#positionAt(part) + 1;
    const trimmed = this.#trimmed;
    const found = await this.#all(from).catch((error: unknown) => {
      if (!isPassing(error) && !isOfSystem(error)) throw error;
      this.disk.heal();
      return this.#all(from);
    });
    for (const [position, text] of expected) {
      if (position >= from && position > trimmed) expect(found.get(position)).toBe(text);
    }
    for (const [position, text] of found) {
      if (position > this.#trimmed && this.#held.has(position)) expect(this.#held.get(position)).toBe(text);
      if (this.#gone.has(text)) throw new Error(`sequence ${position} is "${text}", which was refused`);
    }
  }

  /** Everything that the reader has from a sequence on. */
  async #all(from: number): Promise<Map<number, string>> {
    const found = new Map<number, string>();
    for (let at = from; ;) {
      const runs = await this.#reader.read(at, 7, 500);
      if (runs.length === 0) return found;
      for (const event of runs.flatMap(({ events }) => events)) {
        if (event.position < from) continue;
        found.set(event.position, event.text);
        at = event.position + 1;
      }
    }
  }
}

function isPassing(error: unknown): boolean {
  return error instanceof EngineError && error.policy === "retry";
}

function isOfSystem(error: unknown): boolean {
  return !(error instanceof EngineError) && typeof (error as { code?: unknown }).code === "string";
}
