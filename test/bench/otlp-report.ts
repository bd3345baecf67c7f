import { median, type Cost } from "./cost.ts";
import { goalOf, nameOf, type Case } from "./otlp-cases.ts";

/** The runs of one row of the report. */
export interface Row {
  /** Absent for a floor. */
  of?: Case;
  records: number;
  costs: Cost[];
}

const header = [
  ["case", 38],
  ["records/s", 10],
  ["CPU-s/M", 9],
  ["with start", 11],
  ["x decoding", 11],
  ["goal", 7],
  ["peak MB", 8],
] as const;

export function titleOf({ of, records }: Row): string {
  return of === undefined ? `protobufjs decoding, ${records}` : nameOf(of);
}

/** Each row beside the floor with as many records a request; `total` is how many records a run takes. */
export function table(rows: readonly Row[], total: number): string[] {
  const perMillion = (spent: number | undefined): number | undefined => spent && (spent / total) * 1e6;
  const lines = rows.map((row) => {
    const middle = (what: keyof Cost): number | undefined => median(row.costs.map((cost) => cost[what]));
    const floor = rows.find(({ of, records }) => of === undefined && records === row.records);
    const decoding = median(floor?.costs.map(({ cpu }) => cpu) ?? []);
    const [cpu, memory] = [middle("cpu")!, middle("memory")];
    return line([
      titleOf(row),
      Math.round(total / middle("seconds")!).toString(),
      perMillion(cpu)?.toFixed(2),
      perMillion(middle("whole"))?.toFixed(2),
      row === floor || decoding === undefined ? undefined : (cpu / decoding).toFixed(2),
      row.of && goalOf(row.of)?.toString(),
      memory === undefined ? undefined : Math.round(memory / 1e6).toString(),
    ]);
  });
  return [line(header.map(([title]) => title)), ...lines];
}

function line(cells: readonly (string | undefined)[]): string {
  return cells
    .map((cell = "", index) => (index === 0 ? cell.padEnd(header[index][1]) : cell.padStart(header[index]![1])))
    .join(" ")
    .trimEnd();
}
