import { obstacleOf as obstacleOfProxy, proxyNames } from "../../support/reverse-proxy.ts";
import { kinds, obstacleOf } from "./kinds.ts";
import { rowOfSender, sendersHead } from "./report.ts";
import { type Fate, type Path, type Strain, strain } from "./trial.ts";

/** Small exports without end, one at a time. */
const steady = { exporters: 1, exports: 0, records: 20, pause: 100, timeout: 5_000 };

const strains: readonly Strain[] = [
  { name: "restarts", load: steady, together: true, ends: { signal: "SIGTERM", times: 3 } },
  { name: "kills", load: steady, together: true, ends: { signal: "SIGKILL", times: 3 } },
  // More than two cores take in time, from all programs at once.
  {
    name: "overload",
    load: { exporters: 4, exports: 8, records: 2_000, pause: 0, timeout: 2_000 },
    together: true,
  },
  // As after an outage: 24 of each at once, 2.7 MB each, with a timeout that is too short for the last of them.
  {
    name: "backlog",
    load: { exporters: 24, exports: 1, records: 6_000, pause: 0, timeout: 1_000 },
    together: false,
  },
];

/**
 * Lets every program send through every path while each of the strains befalls the receiver. What cannot be run here is
 * said, and is a failure under `CI=true`.
 *
 * @param only a pattern for `PATH, STRAIN`.
 */
export async function strainSenders(only: RegExp, log: (line: string) => void): Promise<Fate[]> {
  const skip = (name: string, obstacle: string): void => {
    if (process.env["CI"] === "true") throw new Error(`${name} ${obstacle}`);
    log(`skipped: ${name} ${obstacle}`);
  };
  const paths: Path[] = ["direct"];
  for (const name of proxyNames) {
    const obstacle = obstacleOfProxy(name);
    if (obstacle === undefined) paths.push(name);
    else skip(name, obstacle);
  }
  const runnable = kinds.filter((kind) => {
    const obstacle = obstacleOf(kind);
    if (obstacle !== undefined) skip(kind.name, obstacle);
    return obstacle === undefined;
  });
  for (const kind of runnable) await kind.prepare();
  for (const line of sendersHead) log(line);
  const fates: Fate[] = [];
  for (const path of paths) {
    for (const one of strains.filter(({ name }) => only.test(`${path}, ${name}`))) {
      const found = await strain(path, one, runnable);
      for (const fate of found) log(rowOfSender(fate));
      fates.push(...found);
    }
  }
  return fates;
}
