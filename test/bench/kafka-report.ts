import { median, type Cost } from "./cost.ts";
import { type Case, goalOf } from "./kafka-cases.ts";
import type { Shape } from "./kafka-shape.ts";

/** The runs of one row of the report. */
export interface Row {
  shape: Shape;
  name: string;
  /** Absent for a floor. */
  of?: Case;
  batch?: number;
  costs: Cost[];
}

/** The batch size that the goals are set for. */
export const goalBatch = 50_000;

const header = [
  ["event", 7],
  ["case", 16],
  ["batch", 7],
  ["events/s", 10],
  ["MB/s", 7],
  ["CPU-s/M", 9],
  ["with start", 11],
  ["x kafkajs", 10],
  ["added", 7],
  ["goal", 7],
  ["peak MB", 8],
] as const;

/** The rows of one shape, of which the first is kafkajs reading and doing nothing. `bytes`: of all its events. */
export function table(rows: readonly Row[], bytes: number): string[] {
  const [floor] = rows;
  return rows
    .filter(({ costs }) => costs.length > 0)
    .map((row) => {
      const { shape, name, of, batch, costs } = row;
      const middle = (what: keyof Cost): number | undefined => median(costs.map((cost) => cost[what]));
      const [seconds, cpu, memory] = [middle("seconds")!, middle("cpu")!, middle("memory")];
      const perMillion = (spent: number | undefined): number | undefined => spent && (spent / shape.events) * 1e6;
      const ingest = rows.find((other) => other.batch === batch && other.of?.steps.length === 0);
      const before =
        of === undefined || of.steps.length === 0 ? undefined : median(ingest?.costs.map((cost) => cost.cpu));
      const ratio = floor === undefined ? undefined : cpu / (median(floor.costs.map((cost) => cost.cpu)) ?? NaN);
      return line([
        shape.name,
        name,
        batch?.toString(),
        Math.round(shape.events / seconds).toString(),
        (bytes / seconds / 1e6).toFixed(1),
        perMillion(cpu)?.toFixed(2),
        perMillion(middle("whole"))?.toFixed(2),
        row === floor ? undefined : ratio?.toFixed(2),
        before === undefined ? undefined : perMillion(cpu - before)?.toFixed(2),
        of === undefined || batch !== goalBatch ? undefined : goalText(of, shape),
        memory === undefined ? undefined : Math.round(memory / 1e6).toString(),
      ]);
    });
}

export function tableHeader(): string {
  return line(header.map(([title]) => title));
}

function goalText(of: Case, shape: Shape): string {
  const { most, isAdded } = goalOf(of, shape);
  return isAdded ? `+${most}` : most.toString();
}

function line(cells: readonly (string | undefined)[]): string {
  return cells
    .map((cell = "", index) => {
      const width = header[index]![1];
      return index < 2 ? cell.padEnd(width) : cell.padStart(width);
    })
    .join(" ")
    .trimEnd();
}
