import { median } from "./cost.ts";
import type { Measured, StepCost } from "./reconcile-cost.ts";
import { floors } from "./reconcile-floor.ts";
import { pushRow } from "./reconcile-push.ts";

/** The measurements of one size. */
export interface Size {
  files: number;
  engine: "real" | "model";
  measured: Measured;
}

const header = [
  ["step", 40],
  ["s", 8],
  ["p99 s", 8],
  ["of it after fetch", 18],
  ["CPU-s", 8],
  ["x floor", 8],
  ["MB", 6],
  ["peak MB", 8],
  ["goal", 24],
] as const;

/** What a step cannot cost less than, and which of its figures is compared. */
const floorOf: Readonly<Record<string, string>> = {
  "cold: load, validate, create all": floors.yaml,
  "no-op": floors.look,
  "commit of 1 changed files": floors.fetch,
};

const goals: Readonly<Record<string, string>> = {
  "no-op": "2 s, 300 MB",
  "commit of 1 changed files": "1 s after fetch",
  [pushRow]: "p99 2 s",
};

export function table({ files, engine, measured }: Size): string[] {
  const what =
    engine === "model" ? "a model engine: all that is seen is the reconciler" : "the real engine, all running";
  const lines = Object.entries(measured).map(([name, costs]) => {
    const floor = floorOf[name];
    const of = (figure: keyof StepCost): number | undefined => median(costs.map((cost) => cost[figure]));
    const least = floor === undefined ? undefined : median(measured[floor]?.map(({ cpu }) => cpu));
    return line([
      name,
      of("seconds")?.toFixed(3),
      costs.length < 100 ? undefined : percentile(costs, 0.99).toFixed(3),
      of("afterFetch")?.toFixed(3),
      of("cpu")?.toFixed(3),
      least === undefined ? undefined : (of("cpu")! / least).toFixed(1),
      megabytes(of("resident")),
      megabytes(of("memory")),
      files === 1000 ? goals[name] : undefined,
    ]);
  });
  return ["", `${files} files, ${what}`, line(header.map(([title]) => title)), ...lines];
}

function percentile(costs: readonly StepCost[], share: number): number {
  const sorted = costs.map(({ seconds }) => seconds).toSorted((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * share) - 1]!;
}

function megabytes(bytes: number | undefined): string | undefined {
  return bytes === undefined ? undefined : Math.round(bytes / 1e6).toString();
}

function line(cells: readonly (string | undefined)[]): string {
  return cells
    .map((cell = "", index) => (index === 0 ? cell.padEnd(header[index][1]) : cell.padStart(header[index]![1])))
    .join(" ")
    .trimEnd();
}
