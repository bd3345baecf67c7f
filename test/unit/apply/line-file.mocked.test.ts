import * as fc from "fast-check";
import { expect, test, vi } from "vitest";
import { LineFile } from "../../../reconciler/apply/line-file.ts";
import { Life } from "../../support/simulation/clock.ts";
import { SimulatedDisk } from "../../support/simulation/disk.ts";
import { giveFiles } from "../../support/simulation/node-files.ts";

vi.mock("node:fs", async (original) => {
  const { simulatedFs } = await import("../../support/simulation/node-files.ts");
  return simulatedFs(await original());
});
vi.mock("node:fs/promises", async (original) => {
  const { simulatedFsPromises } = await import("../../support/simulation/node-files.ts");
  return simulatedFsPromises(await original());
});

type Step =
  | { kind: "append"; sizes: number[] }
  | { kind: "replace"; lines: number }
  | { kind: "fails"; call: "write" | "datasync" | "truncate"; kth: number }
  | { kind: "is killed" | "loses its power"; after: number };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant("append" as const),
        sizes: fc.array(fc.nat(60), { minLength: 1, maxLength: 3 }),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("replace" as const), lines: fc.nat(2) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant("fails" as const),
        call: fc.constantFrom("write" as const, "datasync" as const, "truncate" as const),
        kth: fc.integer({ min: 1, max: 3 }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constantFrom("is killed" as const, "loses its power" as const),
        after: fc.nat(60),
      }),
    },
  ),
  { minLength: 4, maxLength: 24 },
);

/** A file of lines on a simulated disk, and what of it must be there whatever happens. */
class Scene {
  readonly disk: SimulatedDisk;
  #life = new Life();
  #file!: LineFile;
  #next = 0;
  /** Numbers of the lines that must be there: one of these lists, as a replacement that failed may have been made. */
  #lists: number[][] = [[]];
  /** What the last replacement has taken away, which a power cut may bring back. */
  #undoable: number[][] = [];
  /** Lines that are there, and that a power cut may take away until something is added to them. */
  #tail: number[] = [];
  /** Lines of which nothing is known: they may be there, after those that must be. */
  #unknown = new Set<number>();

  constructor(seed: number) {
    let state = seed;
    this.disk = new SimulatedDisk((n) => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return (state >>> 8) % n;
    });
  }

  async begin(): Promise<void> {
    const disk = this.disk.boot();
    await disk.mkdir("/data");
    await disk.syncFolder("/");
    this.#file = this.#open(true);
  }

  async let(step: Step): Promise<void> {
    if (step.kind === "append") await Promise.all(step.sizes.map((size) => this.#append(size)));
    else if (step.kind === "replace") await this.#replace(step.lines);
    else if (step.kind === "fails") this.disk.fail(step.call, step.kth, { code: "EIO", taken: "part" });
    else await this.#end(step.kind, step.after);
  }

  #open(hasLostPower: boolean): LineFile {
    this.#life = new Life();
    giveFiles(this.#life, {
      disk: mortal(this.disk.boot(), this.#life),
      contentOf: (path) => this.disk.contentOf(path),
    });
    const { file, lines } = this.#life.run(() => LineFile.read("/data/lines"));
    const found = lines.map((line) => (JSON.parse(line) as { line: number }).line);
    const expected = [...this.#lists, ...this.#undoable];
    const kept = expected.filter((list) => {
      const rest = found.slice(list.length);
      return list.every((line, index) => found[index] === line) && rest.every((line) => this.#unknown.has(line));
    });
    if (kept.length === 0)
      throw new Error(`expected lines ${JSON.stringify(expected)}, found ${JSON.stringify(found)}`);
    this.#tail = found.slice(Math.max(...kept.map((list) => list.length)));
    // What a process has cut off, or has not synced, a power cut may bring back or take away after the process.
    [this.#undoable, this.#unknown] = hasLostPower ? [[], new Set()] : [expected, this.#unknown];
    this.#lists = [found.slice(0, found.length - this.#tail.length)];
    for (const line of this.#tail) this.#unknown.add(line);
    return file;
  }

  async #append(size: number): Promise<void> {
    const line = (this.#next += 1);
    this.#unknown.add(line);
    try {
      await this.#life.run(() => this.#file.append({ line, text: "x".repeat(size) }));
      this.#lists = this.#lists.map((list) => [...list, ...this.#tail, line]);
      this.#tail = [];
      // It is durable, and so is everything before it.
      this.#undoable = [];
      // What was said before it is there before it, or not at all.
      this.#unknown = new Set([...this.#unknown].filter((other) => other > line));
    } catch (error) {
      expect(error).toMatchObject({ code: "EIO" });
    }
  }

  async #replace(count: number): Promise<void> {
    const lines = Array.from({ length: count }, () => (this.#next += 1));
    const before = this.#lists.flatMap((list) => [list, [...list, ...this.#tail]]);
    this.#tail = [];
    try {
      await this.#life.run(() => this.#file.replace(lines.map((line) => ({ line }))));
      this.#undoable = count > 0 ? [] : [...this.#undoable, ...before];
      this.#lists = [lines];
    } catch (error) {
      expect(error).toMatchObject({ code: "EIO" });
      this.#lists = [...before, lines];
    }
  }

  /** It ends in the middle of whatever it does then. */
  async #end(how: "is killed" | "loses its power", after: number): Promise<void> {
    const dying = this.#life;
    void this.#append(30);
    for (let turn = 0; turn < after; turn += 1) await Promise.resolve();
    dying.end();
    if (how === "loses its power") this.disk.crash();
    await new Promise((resolve) => setImmediate(resolve));
    this.#file = this.#open(how === "loses its power");
  }
}

/** Its calls are never answered once the life is over; what they have begun is done then. */
function mortal<Calls extends object>(calls: Calls, life: Life): Calls {
  const answer = (result: unknown): unknown => {
    if (life.isOver) return new Promise(() => undefined);
    return typeof result === "object" && result !== null && "datasync" in result ? mortal(result, life) : result;
  };
  return new Proxy(calls, {
    get: (target, name) => {
      const call: unknown = Reflect.get(target, name);
      if (typeof call !== "function") return call;
      return (...parts: unknown[]) => {
        if (life.isOver) return new Promise(() => undefined);
        return (call as (...of: unknown[]) => Promise<unknown>).apply(target, parts).then(answer);
      };
    },
  });
}

test("holds what was answered, whatever fails and whenever the power goes", async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), steps, async (seed, story) => {
      const scene = new Scene(seed);
      await scene.begin();
      for (const step of story) await scene.let(step);
      await scene.let({ kind: "loses its power", after: 0 });
    }),
    { numRuns: Number(process.env["FUZZ_RUNS"] ?? 100), seed: Number(process.env["FUZZ_SEED"] ?? 1) },
  );
});
