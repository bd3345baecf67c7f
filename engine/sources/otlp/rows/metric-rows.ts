import { DataPoints } from "./data-points.ts";
import { Fields } from "./fields.ts";
import { type MetricKind, metricKinds } from "./metric-kinds.ts";
import type { ItemRows } from "./request.ts";
import type { RowWriter } from "./row-writer.ts";

/** Makes a row of each data point of a metric. */
export class MetricRows implements ItemRows {
  readonly #row: RowWriter;
  readonly #metric = new Fields({
    fields: { 1: "text", 2: "text", 3: "text", 5: "message", 7: "message", 9: "message", 10: "message", 11: "message" },
    oneOf: [5, 7, 9, 10, 11],
  });
  /** By the number of the metric's field that holds them. */
  readonly #kinds: ReadonlyMap<number, { kind: MetricKind; data: Fields; points: DataPoints }>;

  constructor(row: RowWriter) {
    this.#row = row;
    this.#kinds = new Map(
      metricKinds.map((kind) => {
        return [kind.field, { kind, data: new Fields(kind.data), points: new DataPoints(row, kind) }];
      }),
    );
  }

  write(start: number, end: number, depth: number): void {
    const [{ wire }, metric] = [this.#row, this.#metric];
    metric.read(wire, start, end, depth);
    this.#checkReplaced(depth + 1);
    const kind = this.#kinds.get(metric.chosen);
    if (kind === undefined) return;
    kind.data.readParts(wire, metric, metric.chosen, depth + 1);
    kind.points.write(metric, kind.data, depth + 2);
  }

  /** Reads the data that the metric held before it was set anew: they may be malformed. */
  #checkReplaced(depth: number): void {
    const [{ out, ends, wire }, { parts, firstPart }] = [this.#row, this.#metric];
    const [{ length }, rows] = [out, ends.length];
    for (let part = 0; part < firstPart; part += 1) {
      const { data, points } = this.#kinds.get(parts[3 * part]!)!;
      data.read(wire, parts[3 * part + 1]!, parts[3 * part + 2]!, depth);
      points.write(this.#metric, data, depth + 1);
      out.length = length;
      ends.length = rows;
    }
  }
}
