import { spawnSync } from "node:child_process";
import { runWorlds } from "./worlds.ts";

/** `npm run fuzz -- NAME`: the long forms, with the number of cases of each. */
const fuzzers: Readonly<Record<string, number>> = {
  files: 100_000,
  // Every verb that reads files, and those of a Sluice that follows them.
  verbs: 1_000,
  expressions: 200_000,
  delivery: 20_000,
  // Stories of a join on a simulated disk.
  join: 10_000,
  otlp: 200_000,
  "otlp-requests": 10_000,
  // Every batch is a part with the paths of its own JSON: a merge of many more of them opens more files than is allowed.
  rows: 400,
  // Answers of Kafka, ClickHouse and Git.
  peers: 100_000,
  stream: 20_000,
  // Copies, renames and swapped links below `--dir`.
  folder: 2_000,
  // Spellings of addresses: of each, what was checked and what is connected to.
  addresses: 100_000,
  world: 100_000,
};

const name = process.argv[2] ?? "";
const runs = Object.hasOwn(fuzzers, name) ? fuzzers[name] : undefined;
if (runs === undefined) {
  console.error(`usage: npm run fuzz -- NAME, where NAME is one of: ${Object.keys(fuzzers).join(", ")}`);
  process.exitCode = 1;
} else {
  // Other files each time; FUZZ_RUNS and FUZZ_SEED repeat a run.
  const seed = String(Date.now() % 2 ** 31);
  if (name === "world") {
    const { FUZZ_RUNS = String(runs), FUZZ_SEED = seed } = process.env;
    console.log(`fuzz -- world, FUZZ_RUNS=${FUZZ_RUNS} FUZZ_SEED=${FUZZ_SEED}`);
    process.exit((await runWorlds(Number(FUZZ_RUNS), Number(FUZZ_SEED))) ? 0 : 1);
  }
  const env = { FUZZ_RUNS: String(runs), FUZZ_SEED: seed, ...process.env };
  const { status } = spawnSync("npx", ["vitest", "run", `test/fuzz/${name}.test.ts`], { stdio: "inherit", env });
  process.exitCode = status ?? 1;
}
