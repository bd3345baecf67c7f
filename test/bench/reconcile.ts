import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { sluice } from "../support/daemon.ts";
import { median } from "./cost.ts";
import { runProgram } from "./program.ts";
import { note, type Measured } from "./reconcile-cost.ts";
import type { Asked } from "./reconcile-process.ts";
import { table } from "./reconcile-report.ts";
import { PipelineRepository } from "./reconcile-repository.ts";

/** Runs of each row, of which the median counts. */
const rounds = Number(process.env["BENCH_RUNS"] ?? 5);
/** Names the sizes that are measured, such as `1000 model`. */
const only = new RegExp(process.env["BENCH_ONLY"] ?? "");

const sizes: readonly Asked[] = [
  { files: 1_000, engine: "model", rounds, pushes: 100 },
  { files: 1_000, engine: "real", rounds, pushes: 100 },
  { files: 10_000, engine: "model", rounds, pushes: 20 },
];

const validated = 1_000;
/** Seconds that a validation of so many files may take. */
const goal = 5;

/**
 * What the reconciler costs with many pipeline files in a real Git repository on this disk: each size in a process of its
 * own, beside what nothing can do without. All figures but the first row's are medians.
 */
export async function run(): Promise<void> {
  console.log(`medians of ${rounds} runs; CPU-seconds are those of the process and of the gits that it runs`);
  for (const size of sizes) {
    if (!only.test(`${size.files} ${size.engine}`)) continue;
    const measured = JSON.parse(await runProgram("reconcile-process.ts", JSON.stringify(size))) as Measured;
    console.log(table({ ...size, measured }).join("\n"));
  }
  if (only.test("validate")) await validate();
}

/** `sluice validate` as it runs before a merge, with the start of its process. */
async function validate(): Promise<void> {
  const repository = await PipelineRepository.make(validated);
  const measured: Measured = {};
  try {
    const args = [sluice, "validate", join(repository.path, "pipelines")];
    const whole = async (): Promise<void> =>
      void (await promisify(execFile)(process.execPath, args, { maxBuffer: 1 << 26 }));
    for (let round = 0; round < rounds; round += 1) await note(measured, "validate", whole);
    const of = (what: "seconds" | "cpu"): string => median(measured["validate"]?.map((cost) => cost[what]))!.toFixed(2);
    console.log(`\nsluice validate of ${validated} files: ${of("seconds")} s, ${of("cpu")} CPU-s (goal: ${goal} s)`);
  } finally {
    await repository.remove();
  }
}
