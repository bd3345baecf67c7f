import { readdirSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { sampleOf } from "./mutants/sample.ts";
import { switched, type Mutant } from "./mutants/switched.ts";
import { TestRuns } from "./mutants/test-run.ts";

/** A folder of sources, and its unit tests: files, or folders of files. */
interface Room {
  sources: string;
  tests: readonly string[];
}

const rooms: readonly Room[] = [
  {
    sources: "engine/delivery",
    tests: [
      "test/unit/delivery",
      "test/unit/transforms/dedup-window.test.ts",
      "test/unit/transforms/drop-fates.test.ts",
    ],
  },
  { sources: "reconciler/plan", tests: ["test/unit/plan", "test/unit/apply", "test/unit/preview"] },
  { sources: "engine/state", tests: ["test/unit/state", "test/conformance/journal.test.ts", "test/unit/delivery"] },
  { sources: "engine/sources/kafka", tests: ["test/unit/kafka", "test/conformance/source.test.ts"] },
];

/** How many of the mutants of a room its tests kill. */
export interface Score {
  room: string;
  killed: number;
  mutants: number;
  seconds: number;
}

interface Options {
  /** Mutants of all rooms together. */
  mutants: number;
  seed: number;
  log: (line: string) => void;
}

/**
 * Runs the unit tests of each room on mutants of its sources: small changes that a test should notice. All mutants are in
 * one copy of the tree, and one at a time is switched on. Prints those that survive. Throws where tests fail without one.
 */
export async function mutate({ mutants, seed, log }: Options): Promise<Score[]> {
  const copy = await copyOfTheHouse();
  try {
    const samples = rooms.map((room, index) => ({
      room,
      sample: sampleOf(copy, room.sources, partOf(mutants, seed, index)),
    }));
    await plant(
      samples.flatMap(({ sample }) => sample),
      copy,
    );
    const scores: Score[] = [];
    for (const { room, sample } of samples) {
      scores.push(await scoreOf(room, sample, { copy, log }));
      log(lineOf(scores.at(-1)!));
    }
    return scores;
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

/** The mutants of one room: about the same number for each. No two have one number. */
function partOf(mutants: number, seed: number, index: number): Parameters<typeof sampleOf>[2] {
  const before = (end: number): number => Math.round((end * mutants) / rooms.length);
  return { count: before(index + 1) - before(index), seed, first: before(index) + 1 };
}

/** As a line of a table. */
export function lineOf({ room, killed, mutants, seconds }: Score): string {
  return `| ${room} | ${killed} / ${mutants} | ${Math.round((100 * killed) / mutants)} % | ${seconds} s |`;
}

/** The part of the mutants of a room that its tests kill at the least; of the rest, some change nothing that can be seen. */
const leastKilled = 0.4;

/** The rooms whose tests find too little. */
export function tooLittleFound(scores: readonly Score[]): string[] {
  return scores
    .filter(({ killed, mutants }) => killed < leastKilled * mutants)
    .map(({ room, killed, mutants }) => `${room}: its tests kill ${killed} of ${mutants} mutants`);
}

/** What is made from the tree, or found from the copy because it is below the house. */
const notCopied = new Set([".cache", ".git", "dist", "node_modules"]);

async function copyOfTheHouse(): Promise<string> {
  const house = fileURLToPath(new URL("../..", import.meta.url));
  // Below the house, so that its packages are found from there.
  await mkdir(join(house, ".cache"), { recursive: true });
  const copy = await mkdtemp(join(house, ".cache", "mutants-"));
  for (const name of await readdir(house)) {
    if (!notCopied.has(name)) await cp(join(house, name), join(copy, name), { recursive: true });
  }
  return copy;
}

async function scoreOf(room: Room, sample: readonly Mutant[], { copy, log }: Tree): Promise<Score> {
  const began = performance.now();
  const runs = new TestRuns(copy);
  const tests = await runs.withoutMutant(testFilesOf(room, copy));
  let killed = 0;
  for (const mutant of sample) {
    const reaching = tests.filter(({ reached }) => reached.has(mutant.id));
    if (reaching.length > 0 && (await runs.fails(mutant.id, reaching))) killed += 1;
    else log(survivalOf(mutant, reaching.length));
  }
  const seconds = Math.round((performance.now() - began) / 1000);
  return { room: room.sources, killed, mutants: sample.length, seconds };
}

interface Tree {
  copy: string;
  log: (line: string) => void;
}

async function plant(mutants: readonly Mutant[], copy: string): Promise<void> {
  for (const file of new Set(mutants.map((mutant) => mutant.file))) {
    const path = join(copy, file);
    const inFile = mutants.filter((mutant) => mutant.file === file);
    await writeFile(path, switched(await readFile(path, "utf8"), inFile));
  }
}

/** Without those that replace modules: they need modules of their own. */
function testFilesOf({ tests }: Room, copy: string): string[] {
  const paths = tests.flatMap((test) =>
    test.endsWith(".ts")
      ? [test]
      : readdirSync(join(copy, test), { recursive: true, encoding: "utf8" }).map((path) => `${test}/${path}`),
  );
  return paths.filter((path) => path.endsWith(".test.ts") && !path.endsWith(".mocked.test.ts"));
}

function survivalOf({ file, line, was, becomes }: Mutant, tests: number): string {
  const change = becomes === "" ? `left out: ${short(was)}` : `${short(was)}  ->  ${short(becomes)}`;
  const why = tests === 0 ? "no test comes to it" : `${tests} test files pass`;
  return `SURVIVED ${file}:${line}: ${change} (${why})`;
}

function short(source: string): string {
  const line = source.replaceAll(/\s+/g, " ");
  return line.length > 120 ? `${line.slice(0, 120)}…` : line;
}
