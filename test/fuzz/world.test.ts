import { readFileSync, writeFileSync } from "node:fs";
import * as fc from "fast-check";
import { beforeAll, expect, test, vi } from "vitest";
import { kinds, stories, shapes, told, type Happening, type WorldShape } from "../support/simulation/world/story.ts";
import { World } from "../support/simulation/world/world.ts";

vi.mock("node:fs", async (original) => {
  const { simulatedFs } = await import("../support/simulation/node-files.ts");
  return simulatedFs(await original());
});
vi.mock("node:fs/promises", async (original) => {
  const { simulatedFsPromises } = await import("../support/simulation/node-files.ts");
  return simulatedFsPromises(await original());
});

/** 1,000 worlds in the short form; `FUZZ_RUNS` and `FUZZ_SEED` set other ones. */
const numRuns = Number(process.env["FUZZ_RUNS"] ?? 1_000);
const seed = Number(process.env["FUZZ_SEED"] ?? 1);

/** Where the number of everything that was met goes, for whoever adds up several runs. */
const metFile = process.env["FUZZ_MET"];

const met = new Map<string, number>();

/** A world in which everything comes up once: what is loaded or made at its first use takes no time of the worlds after it. */
beforeAll(async () => {
  const shape = { hasDedup: true, hasStateless: true, replicas: 2, members: 2 };
  const pipelines = [
    { ...shape, source: "webhook" as const },
    { ...shape, source: "kafka" as const },
  ];
  const event = { key: "a", fate: "row", part: 1 } as const;
  const story = [0, 1].map((pipeline): Happening => ({ kind: "send", pipeline, events: [event] }));
  const killed: Happening = { kind: "process is killed", milliseconds: 10, isMended: false };
  await live({ pipelines, table: "MergeTree", entries: 100, threads: 1, seed: 1 }, [...story, killed, ...story]);
  met.clear();
}, 60_000);

/** Lives through a story; returns what was promised and is not so. */
async function live(
  shape: WorldShape,
  story: readonly Happening[],
  onLine: (line: string) => void = () => undefined,
): Promise<string[]> {
  const world = new World(shape);
  world.onLine = onLine;
  const began = performance.now();
  try {
    await world.begin();
    for (const happening of story) await world.let(happening);
    const unrest = await world.settle();
    return [...unrest.map((text) => `no way out: ${text}`), ...(unrest.length === 0 ? world.breaches() : [])];
  } catch (error) {
    return [error instanceof Error ? (error.stack ?? error.message) : String(error)];
  } finally {
    await world.end();
    const { steps, monotonic } = world.clock;
    if (process.env["FUZZ_COLLECT"] !== undefined)
      console.log(`${Math.round(performance.now() - began)} ms, ${steps} steps, ${Math.round(monotonic / 1000)} s`);
    for (const [what, times] of world.met) met.set(what, (met.get(what) ?? 0) + times);
  }
}

/** Lives through a world that keeps its promises; returns what Sluice logs in it. */
async function linesOf([shape, story]: [WorldShape, Happening[]]): Promise<string[]> {
  const lines: string[] = [];
  expect(await live(shape, story, (line) => lines.push(line))).toEqual([]);
  expect(lines.length).toBeGreaterThan(5);
  return lines;
}

test(
  "what happens comes from the story and its seed alone, whatever world was before",
  { timeout: 60_000 },
  async () => {
    const worlds = fc.sample(fc.tuple(shapes, stories), { seed: 7, numRuns: 4 });
    const first: string[][] = [];
    for (const world of worlds) first.push(await linesOf(world));
    for (const [index, world] of [...worlds.entries()].toReversed()) expect(await linesOf(world)).toEqual(first[index]);
  },
);

/** FUZZ_WORLD names a file with a story as a failure prints it, which is told again with all that Sluice says. */
const again = process.env["FUZZ_WORLD"];

test.runIf(again !== undefined)("one world again", { timeout: 600_000 }, async () => {
  const [first, ...rest] = readFileSync(again!, "utf8").trim().split("\n");
  const shape = JSON.parse(first!) as WorldShape;
  const story = rest.map((line) => JSON.parse(line) as Happening);
  expect(await live(shape, story, (line) => console.log(line))).toEqual([]);
});

test.skipIf(again !== undefined)(
  "whatever happens, each event is there once, and everything comes to rest",
  { timeout: 600_000 + numRuns * 1_000 },
  async () => {
    const started = performance.now();
    await fc.assert(
      fc.asyncProperty(shapes, stories, async (shape, story) => {
        const found = await live(shape, story);
        if (found.length > 0 && process.env["FUZZ_COLLECT"] !== undefined) {
          const kind = found[0]!.replaceAll(/\d+/g, "N").slice(0, 90);
          if (!met.has(`BREACH ${kind}`)) console.log(`${found.join("\n")}\n${told(shape, story)}`);
          met.set(`BREACH ${kind}`, (met.get(`BREACH ${kind}`) ?? 0) + 1);
          return;
        }
        if (found.length > 0) throw new Error(`${found.join("\n")}\n${told(shape, story)}`);
      }),
      { numRuns, seed, endOnFailure: process.env["FUZZ_SHRINK"] === undefined },
    );
    console.log(`${numRuns} worlds in ${Math.round(performance.now() - started)} ms`);
    if (metFile !== undefined) writeFileSync(metFile, JSON.stringify(Object.fromEntries(met)));
    // A kind of thing that never happens tests nothing.
    if (numRuns >= 1_000) expect(kinds.filter((kind) => !met.has(kind))).toEqual([]);
  },
);
