import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { reckon } from "../support/simulation/world/effects.ts";
import { bundleWorlds } from "./world-bundle.ts";

/** Worlds of one process, from a seed on. */
interface Piece {
  seed: number;
  runs: number;
}

/** Worlds that one process lives through. */
const ofOne = 250;
/** After so many pieces that failed no further one is begun. */
const mostFailures = 5;

/**
 * Lives through so many worlds in pieces by seed, as many at a time as there are cores, and prints how often everything
 * was met, and the effects as a table. A piece that fails prints its story, and the other pieces go on. Piece after
 * piece has the next seed: a run that was ended goes on with the first seed that it did not print. Returns whether all
 * held, and every effect was met often enough.
 */
export async function runWorlds(count: number, seed: number): Promise<boolean> {
  const pieces = Array.from({ length: Math.ceil(count / ofOne) }, (_, index): Piece => ({
    seed: seed + index,
    runs: Math.min(ofOne, count - index * ofOne),
  }));
  const { folder, bundle } = await bundled();
  const met = new Map<string, number>();
  let [done, failures] = [0, 0];
  const work = async (): Promise<void> => {
    for (let piece = pieces.shift(); piece !== undefined && failures < mostFailures; piece = pieces.shift()) {
      const said = await livePiece(piece, { bundle, folder, met });
      if (said === undefined) done += piece.runs;
      else failures += 1;
      console.log(said ?? `${done} of ${count} worlds (seed ${piece.seed})`);
    }
  };
  try {
    await Promise.all(Array.from({ length: availableParallelism() }, work));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  for (const [what, times] of [...met].toSorted(([, a], [, b]) => b - a)) console.log(`${times} ${what}`);
  const { lines, lacks } = reckon(met, done);
  for (const line of [...lines, ...lacks]) console.log(line);
  return failures === 0 && lacks.length === 0;
}

/**
 * Lives through a piece in a process of its own, and adds to `met` how often everything was met. Resolves with what the
 * process said where a world kept no promise; undefined where all did.
 */
export async function livePiece(
  { seed, runs }: Piece,
  { bundle, folder, met }: { bundle: string; folder: string; met: Map<string, number> },
): Promise<string | undefined> {
  const counts = join(folder, `${seed}.json`);
  const env = { ...process.env, FUZZ_RUNS: String(runs), FUZZ_SEED: String(seed), FUZZ_MET: counts };
  const child = spawn(process.execPath, [bundle], {
    env,
    // What it collects is read as it comes.
    stdio: ["ignore", process.env["FUZZ_COLLECT"] === undefined ? "pipe" : "inherit", "inherit"],
    // A world that does not end is a failure too.
    timeout: 600_000 + runs * 10_000,
  });
  const said: Buffer[] = [];
  child.stdout?.on("data", (chunk: Buffer) => said.push(chunk));
  const code = await new Promise<number | null>((resolve) => child.once("exit", resolve));
  if (code !== 0) return Buffer.concat(said).toString() || `it ended with ${code}`;
  for (const [what, times] of Object.entries(JSON.parse(await readFile(counts, "utf8")) as Record<string, number>)) {
    met.set(what, (met.get(what) ?? 0) + times);
  }
  return undefined;
}

/** A folder with the bundled worlds, from where they find their packages. */
export async function bundled(): Promise<{ folder: string; bundle: string }> {
  const cache = fileURLToPath(new URL("../../.cache/", import.meta.url));
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, "worlds-"));
  const bundle = join(folder, "piece.mjs");
  await bundleWorlds(bundle);
  return { folder, bundle };
}
