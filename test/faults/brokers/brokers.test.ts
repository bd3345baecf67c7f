/** @module-tag rest */
import { expect, test } from "vitest";
import { requireOrSkip } from "../../support/require-or-skip.ts";
import { befallBrokers, brokersObstacle, kinds, withBrokers } from "./rounds.ts";

const seed = Number(process.env["FAULTS_SEED"] ?? Date.now() % 2 ** 31);

/** One fault of the most important kinds; all of them are in `npm run faults -- brokers`. */
const short = [
  "KIP-848 member beside, the pipeline is stopped and resumed",
  "unclean election",
  "a partition has no leader, and a pipeline is new",
];

test(
  `whatever three brokers do, each message that is in the topic is in the table once (FAULTS_SEED=${seed})`,
  { timeout: 600_000 },
  async ({ skip }) => {
    requireOrSkip(await brokersObstacle(), skip);
    const faults = short.map((wanted) => kinds.find(({ name }) => name === wanted)!);
    const lines: string[] = [];
    const options = { faults: 1, seed, log: (line: string) => lines.push(line) };
    const problems = await withBrokers((servers) => befallBrokers(faults, servers, options));
    expect(problems, lines.join("\n")).toEqual([]);
  },
);
