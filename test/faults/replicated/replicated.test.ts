/** @module-tag rest */
import { expect, test } from "vitest";
import { replicatedObstacle } from "../../support/replicated/engine.ts";
import { requireOrSkip } from "../../support/require-or-skip.ts";
import { befallReplicas, replicatedFaults } from "./faults.ts";
import { withReplicas } from "./servers.ts";

const seed = Number(process.env["FAULTS_SEED"] ?? Date.now() % 2 ** 31);

/** One of each kind; all of them are in `npm run faults -- replicated`. */
const short = [
  "two replicas behind one address: answers are lost",
  "two tables that are not replicated behind one address, on_uncertain: skip",
  "others insert more than a window meanwhile, on_uncertain: skip",
];

test(
  `on Replicated tables every row is there once, or is counted (FAULTS_SEED=${seed})`,
  { timeout: 600_000 },
  async ({ skip }) => {
    requireOrSkip(await replicatedObstacle(), skip);
    const faults = short.map((wanted) => replicatedFaults.find(({ name }) => name === wanted)!);
    const lines: string[] = [];
    const options = { kills: 2, seed, log: (line: string) => lines.push(line) };
    const problems = await withReplicas((servers) => befallReplicas(faults, servers, options));
    expect(problems, lines.join("\n")).toEqual([]);
  },
);
