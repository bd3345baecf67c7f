import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import * as fc from "fast-check";
import { expect, onTestFinished, test, vi } from "vitest";
import { reckon, shareOf } from "../support/simulation/world/effects.ts";
import { shapes, stories, type Happening, type WorldShape } from "../support/simulation/world/story.ts";
import { isLongForm, seed, triesOf } from "./tries.ts";
import { bundled, livePiece } from "./worlds.ts";

vi.mock("node:fs", async (original) => {
  const { simulatedFs } = await import("../support/simulation/node-files.ts");
  return simulatedFs(await original());
});
vi.mock("node:fs/promises", async (original) => {
  const { simulatedFsPromises } = await import("../support/simulation/node-files.ts");
  return simulatedFsPromises(await original());
});

/** FUZZ_WORLD names a file with a story as a failure prints it, which is told again with all that Sluice says. */
const again = process.env["FUZZ_WORLD"];

/** Lives through worlds in a process of its own, which bring about what so many worlds are to bring about. */
async function livesThrough(runs: number, from: number): Promise<void> {
  const { folder, bundle } = await bundled();
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const met = new Map<string, number>();
  const said = await livePiece({ seed: from, runs }, { bundle, folder, met });
  expect(said, said).toBeUndefined();
  const { lines, lacks } = reckon(met, runs);
  expect(lacks, lines.join("\n")).toEqual([]);
  expect(shareOf(met), lines.join("\n")).toBeGreaterThan(33);
}

const title = "whatever happens, each event is there once, and everything comes to rest";
const tries = triesOf(8);

test.skipIf(again !== undefined)(title, { timeout: 600_000 + tries * 1_000 }, async () => {
  await livesThrough(tries, seed);
});

test.skipIf(isLongForm || again !== undefined)(`${title}: in more worlds`, { tags: ["rest"], timeout: 600_000 }, () =>
  livesThrough(6, seed + 2),
);

test(
  "what happens comes from the story and its seed alone, whatever world was before",
  { tags: ["rest"], timeout: 120_000 },
  async () => {
    const { live, warmUp } = await import("./world-life.ts");
    await warmUp();
    /** Lives through a world that keeps its promises; returns what Sluice logs in it. */
    const linesOf = async ([shape, story]: [WorldShape, Happening[]]): Promise<string[]> => {
      const lines: string[] = [];
      expect(await live(shape, story, (line) => lines.push(line))).toEqual([]);
      expect(lines.length).toBeGreaterThan(5);
      return lines;
    };
    const worlds = fc.sample(fc.tuple(shapes, stories), { seed: 7, numRuns: 2 });
    const first: string[][] = [];
    for (const world of worlds) first.push(await linesOf(world));
    for (const [index, world] of [...worlds.entries()].toReversed()) expect(await linesOf(world)).toEqual(first[index]);
  },
);

if (again !== undefined) test("one world again", { timeout: 600_000 }, () => liveAgain(again));

async function liveAgain(file: string): Promise<void> {
  const { live, warmUp } = await import("./world-life.ts");
  await warmUp();
  const [first, ...rest] = readFileSync(file, "utf8").trim().split("\n");
  const shape = JSON.parse(first!) as WorldShape;
  const story = rest.map((line) => JSON.parse(line) as Happening);
  expect(await live(shape, story, (line) => console.log(line))).toEqual([]);
}
