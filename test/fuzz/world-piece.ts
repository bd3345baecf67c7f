import { writeFileSync } from "node:fs";
import { liveThrough, met, warmUp } from "./world-life.ts";

/** A piece of the long form in a process of its own: FUZZ_RUNS worlds from FUZZ_SEED on; FUZZ_MET is where the counts go. */
const { FUZZ_RUNS, FUZZ_SEED, FUZZ_MET } = process.env;
// A world makes thousands of errors, and their stacks take a tenth of its time. FUZZ_WORLD tells a story again with them.
Error.stackTraceLimit = 0;
try {
  await warmUp();
  await liveThrough({ numRuns: Number(FUZZ_RUNS), seed: Number(FUZZ_SEED) });
  writeFileSync(FUZZ_MET!, JSON.stringify(Object.fromEntries(met)));
  // A simulated world leaves nothing to wait for; sockets and timers of its peers are not those of this machine.
  process.exit(0);
} catch (error) {
  // With its cause, which holds the story.
  console.log(error);
  process.exit(1);
}
