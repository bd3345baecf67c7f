import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

/** A CPU profile as V8 writes it; times in microseconds. */
interface Profile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  samples: number[];
  timeDeltas: number[];
}

type Frame = Profile["nodes"][number]["callFrame"];

const shown = 25;
/** Time in which a thread did nothing. */
const idle = "(idle)";
/** How a bundle names the source file that follows. */
const sourceName = /^\/\/ ((?:[\w.-]+\/)*[\w.-]+\.[jt]s)$/;

/** A command of Node that writes profiles of its threads into a folder. */
export function profiled([node = "", ...args]: string[], folder: string): string[] {
  return [node, "--cpu-prof", `--cpu-prof-dir=${folder}`, ...args];
}

/** Where the time of the threads of a process went, as the profiles in a folder tell: functions, the hottest first. */
export function hotFunctions(folder: string): string[] {
  const sources = new Sources();
  const times = new Map<string, number>();
  const totals = readdirSync(folder)
    .filter((name) => name.endsWith(".cpuprofile"))
    .map((name) => {
      const profile = JSON.parse(readFileSync(join(folder, name), "utf8")) as Profile;
      return addTimes(profile, times, (frame) => sources.placeOf(frame));
    });
  const total = totals.reduce((sum, time) => sum + time, 0);
  const threads = totals.toSorted((a, b) => b - a).map((time) => (time / 1e6).toFixed(1));
  const hottest = [...times].toSorted(([, a], [, b]) => b - a).slice(0, shown);
  return [
    `  ${threads.join(" + ")} s of its threads, start included`,
    ...hottest.map(([name, time]) => `  ${((time / total) * 100).toFixed(1).padStart(5)} %  ${name}`),
  ];
}

/** Adds the time of each function of a thread to `times`, and returns the time of all. */
function addTimes(
  { nodes, samples, timeDeltas }: Profile,
  times: Map<string, number>,
  placeOf: (frame: Frame) => string,
): number {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  let total = 0;
  for (const [index, sample] of samples.entries()) {
    const frame = frames.get(sample)!;
    if (frame.functionName === idle) continue;
    const time = timeDeltas[index] ?? 0;
    const name = `${frame.functionName || "(anonymous)"} ${placeOf(frame)}`;
    times.set(name, (times.get(name) ?? 0) + time);
    total += time;
  }
  return total;
}

/** Finds the source files that bundles were made of. */
class Sources {
  readonly #lines = new Map<string, string[]>();

  /** Where a function begins: its source file, or the file that it was loaded from with the line. */
  placeOf({ url, lineNumber }: Frame): string {
    if (!url.startsWith("file:")) return url;
    const path = fileURLToPath(url);
    const lines = this.#lines.get(path) ?? readFileSync(path, "utf8").split("\n");
    this.#lines.set(path, lines);
    for (let at = Math.min(lineNumber, lines.length - 1); at >= 0; at -= 1) {
      const source = sourceName.exec(lines[at]!)?.[1];
      if (source !== undefined) return source;
    }
    const module = path.split("node_modules/").at(-1)!;
    return `${module === path ? basename(path) : module}:${lineNumber + 1}`;
  }
}
