import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { kinds } from "../support/simulation/world/story.ts";
import { bundleWorlds } from "./world-bundle.ts";

/** Worlds that one process lives through. */
const ofOne = 2_500;
/** After so many pieces that failed no further one is begun. */
const mostFailures = 5;

/**
 * Lives through so many worlds in pieces by seed, as many at a time as there are cores, and prints how often everything
 * was met. A piece that fails prints its story, and the other pieces go on. Returns whether all held.
 */
export async function runWorlds(count: number, seed: number): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), "sluice-worlds-"));
  const pieces = Array.from({ length: Math.ceil(count / ofOne) }, (_, index) => ({
    seed: seed + index,
    runs: Math.min(ofOne, count - index * ofOne),
  }));
  // Its packages are found from here, and not from the folder for the counts.
  const bundle = fileURLToPath(new URL(`../../.cache/worlds-${process.pid}.mjs`, import.meta.url));
  await bundleWorlds(bundle);
  const met = new Map<string, number>();
  let [done, failures] = [0, 0];
  const work = async (): Promise<void> => {
    for (let piece = pieces.shift(); piece !== undefined && failures < mostFailures; piece = pieces.shift()) {
      const file = join(folder, `${piece.seed}.json`);
      if (!(await live(bundle, piece, file))) {
        failures += 1;
        continue;
      }
      for (const [what, times] of Object.entries(JSON.parse(await readFile(file, "utf8")) as Record<string, number>)) {
        met.set(what, (met.get(what) ?? 0) + times);
      }
      done += piece.runs;
      console.log(`${done} of ${count} worlds (seed ${piece.seed})`);
    }
  };
  try {
    await Promise.all(Array.from({ length: availableParallelism() }, work));
  } finally {
    await Promise.all([folder, bundle].map((path) => rm(path, { recursive: true, force: true })));
  }
  for (const [what, times] of [...met].toSorted(([, a], [, b]) => b - a)) console.log(`${times} ${what}`);
  // A kind of thing that never happens tests nothing.
  const missing = done >= 1_000 ? kinds.filter((kind) => !met.has(kind)) : [];
  if (missing.length > 0) console.log(`never met: ${missing.join(", ")}`);
  return failures === 0 && missing.length === 0;
}

async function live(bundle: string, { seed, runs }: { seed: number; runs: number }, file: string): Promise<boolean> {
  const env = { ...process.env, FUZZ_RUNS: String(runs), FUZZ_SEED: String(seed), FUZZ_MET: file };
  const child = spawn(process.execPath, [bundle], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
    // A world that does not end is a failure too.
    timeout: 600_000 + runs * 1_000,
  });
  const said: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => said.push(chunk));
  const code = await new Promise<number | null>((resolve) => child.once("exit", resolve));
  if (code !== 0) console.log(Buffer.concat(said).toString());
  return code === 0;
}
