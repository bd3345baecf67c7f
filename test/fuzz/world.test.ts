import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import * as fc from "fast-check";
import { beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { kinds, stories, shapes, type Happening, type WorldShape } from "../support/simulation/world/story.ts";
import { live, warmUp } from "./world-life.ts";
import { bundled, livePiece } from "./worlds.ts";

vi.mock("node:fs", async (original) => {
  const { simulatedFs } = await import("../support/simulation/node-files.ts");
  return simulatedFs(await original());
});
vi.mock("node:fs/promises", async (original) => {
  const { simulatedFsPromises } = await import("../support/simulation/node-files.ts");
  return simulatedFsPromises(await original());
});

/** 50 worlds in the short form; `FUZZ_RUNS` and `FUZZ_SEED` set other ones. */
const numRuns = Number(process.env["FUZZ_RUNS"] ?? 50);
const seed = Number(process.env["FUZZ_SEED"] ?? 1);

beforeAll(warmUp, 60_000);

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
    const { folder, bundle } = await bundled();
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const met = new Map<string, number>();
    const said = await livePiece({ seed, runs: numRuns }, { bundle, folder, met });
    expect(said, said).toBeUndefined();
    // A kind of thing that never happens tests nothing.
    if (numRuns >= 50) expect(kinds.filter((kind) => !met.has(kind))).toEqual([]);
  },
);
