/** @module-tag rest */
import { fork } from "node:child_process";
import { expect, test } from "vitest";
import type { Progress, Report } from "./files-child.ts";
import { mutant } from "./files.ts";
import { seed, triesOf } from "./tries.ts";

const runs = triesOf(500);

/** Milliseconds for one file, after which it is taken to hang. */
const patience = 120_000;

/** The work is done in a process of its own, which can be killed where it hangs. */
async function fuzz(): Promise<Report> {
  const child = fork(new URL("files-child.ts", import.meta.url), [`${seed}`, `${runs}`], {
    execArgv: ["--import", "tsx"],
  });
  let file = 0;
  const end = await new Promise<Report | string>((resolve, reject) => {
    const watch = setTimeout(() => {
      child.kill("SIGKILL");
      resolve(`it takes more than ${patience} ms`);
    }, patience);
    child.on("message", (message: Progress | Report) => {
      watch.refresh();
      if ("runs" in message) resolve(message);
      else file = message.file;
    });
    child.once("error", reject);
    child.once("exit", (code, signal) => {
      clearTimeout(watch);
      resolve(`the process ended with ${signal ?? code}`);
    });
  });
  if (typeof end === "string") throw new Error(`file ${file}: ${end}:\n${shown(file)}`);
  return end;
}

function shown(file: number): string {
  const { path, bytes } = mutant(seed + file);
  return `FUZZ_SEED=${seed + file} ${path} ${JSON.stringify(new TextDecoder().decode(bytes)).slice(0, 4000)}`;
}

test(
  `${runs} mutated files end in problems with places inside them or in good pipelines, never in a crash or a hang`,
  { timeout: 300_000 + runs * 50 },
  async () => {
    const { failure, slowest, codes, good, refused } = await fuzz();
    expect(failure, failure && `${failure.error}\n${shown(failure.file)}`).toBeUndefined();
    const { ms, file, bytes } = slowest;
    console.log(
      `${runs} files from seed ${seed}: ${good} good pipelines, ${refused} refused documents, ${Object.keys(codes).length} codes; ` +
        `slowest ${ms.toFixed(1)} ms (file ${file}, ${bytes} bytes)`,
    );
    // Else the mutants were all alike, and nothing was tested.
    expect(good).toBeGreaterThan(runs / 50);
    expect(refused).toBeGreaterThan(runs / 4);
    expect(Object.keys(codes).length).toBeGreaterThan(40);
  },
);
