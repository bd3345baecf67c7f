import { Fields } from "./fields.ts";
import { type MetricKind, type MetricKindName, metricKinds } from "./metric-kinds.ts";
import type { ItemRows } from "./request.ts";
import type { RowWriter } from "./row-writer.ts";
import { NumberLists } from "./number-lists.ts";

/** The fewest bytes of a row without its resource, its scope and the texts of its metric. */
const leastRow = 500;

/** Makes a row of each data point of a metric. */
export class MetricRows implements ItemRows {
  readonly #row: RowWriter;
  readonly #metric = new Fields({
    fields: { 1: "text", 2: "text", 3: "text", 5: "message", 7: "message", 9: "message", 10: "message", 11: "message" },
    oneOf: [5, 7, 9, 10, 11],
  });
  /** By the number of the metric's field that holds them. */
  readonly #kinds: ReadonlyMap<number, { kind: MetricKind; data: Fields; points: DataPoints }>;

  /** `keptAsNull`: the kinds of whose points those without a recorded value are rows too, with nulls as their values. */
  constructor(row: RowWriter, keptAsNull: readonly MetricKindName[] = []) {
    this.#row = row;
    this.#kinds = new Map(
      metricKinds.map((kind) => {
        const points = new DataPoints(row, kind, keptAsNull.includes(kind.name));
        return [kind.field, { kind, data: new Fields(kind.data), points }];
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

  /** Counts the data points of replaced data too, since their rows are written to check them. */
  leastBytes(start: number, end: number, depth: number, shared: number): number {
    const [{ wire }, metric] = [this.#row, this.#metric];
    metric.read(wire, start, end, depth);
    const texts = [1, 2, 3].reduce((sum, number) => sum + metric.end(number) - metric.start(number), 0);
    const { parts, partCount } = metric;
    let points = 0;
    for (let part = 0; part < partCount; part += 1) {
      const { data } = this.#kinds.get(parts[3 * part]!)!;
      data.read(wire, parts[3 * part + 1]!, parts[3 * part + 2]!, depth + 1);
      points += data.partCount;
    }
    return points * (leastRow + texts + shared);
  }

  /** Reads the data that later data of the metric have replaced: they may be malformed. */
  #checkReplaced(depth: number): void {
    const row = this.#row;
    const [{ out, ends, wire }, { parts, firstPart }] = [row, this.#metric];
    const [{ length }, rows, { leftOut }] = [out, ends.length, row];
    for (let part = 0; part < firstPart; part += 1) {
      const { data, points } = this.#kinds.get(parts[3 * part]!)!;
      data.read(wire, parts[3 * part + 1]!, parts[3 * part + 2]!, depth);
      points.write(this.#metric, data, depth + 1);
      out.dropAfter(length);
      ends.length = rows;
      row.leftOut = leftOut;
    }
  }
}

const key = {
  timestamp: Buffer.from(',"timestamp":'),
  start: Buffer.from(',"start_timestamp":'),
  name: Buffer.from(',"metric_name":'),
  description: Buffer.from(',"metric_description":'),
  unit: Buffer.from(',"metric_unit":'),
  type: Buffer.from(',"metric_type":'),
  temporality: Buffer.from(',"aggregation_temporality":'),
  isMonotonic: Buffer.from(',"is_monotonic":'),
  flags: Buffer.from(',"flags":'),
  double: Buffer.from(',"value_double":'),
  int: Buffer.from(',"value_int":'),
  count: Buffer.from(',"count":'),
  sum: Buffer.from(',"sum":'),
  min: Buffer.from(',"min":'),
  max: Buffer.from(',"max":'),
  bucketCounts: Buffer.from(',"bucket_counts":'),
  bounds: Buffer.from(',"explicit_bounds":'),
  scale: Buffer.from(',"scale":'),
  zeroCount: Buffer.from(',"zero_count":'),
  zeroThreshold: Buffer.from(',"zero_threshold":'),
  positiveOffset: Buffer.from(',"positive_offset":'),
  positiveCounts: Buffer.from(',"positive_bucket_counts":'),
  negativeOffset: Buffer.from(',"negative_offset":'),
  negativeCounts: Buffer.from(',"negative_bucket_counts":'),
  quantiles: Buffer.from(',"quantiles":'),
  quantileValues: Buffer.from(',"quantile_values":'),
};
/** Of the flags of a data point: it has no recorded value, as where a series has ended. */
const noRecordedValue = 1;
const noNumbers = Buffer.from(',"value_double":null,"value_int":null,"count":null,"sum":null,"min":null,"max":null');
const noBuckets = Buffer.from(',"bucket_counts":[],"explicit_bounds":[]');
/** The form of a part that a kind of metric does not have. */
const noExponential = Buffer.from(
  ',"scale":null,"zero_count":null,"zero_threshold":null,"positive_offset":null,"positive_bucket_counts":[]' +
    ',"negative_offset":null,"negative_bucket_counts":[]',
);
const noQuantiles = Buffer.from(',"quantiles":[],"quantile_values":[]');
const temporalities = ["UNSPECIFIED", "DELTA", "CUMULATIVE"];

/** Writes rows of the data points of one kind of metric. */
class DataPoints {
  readonly #row: RowWriter;
  readonly #kind: MetricKind;
  readonly #point: Fields;
  readonly #buckets = new Fields({ fields: { 1: "varint", 2: "varints" } });
  readonly #lists: NumberLists;
  readonly #isKeptAsNull: boolean;

  constructor(row: RowWriter, kind: MetricKind, isKeptAsNull: boolean) {
    this.#row = row;
    this.#kind = kind;
    this.#isKeptAsNull = isKeptAsNull;
    this.#point = new Fields(kind.point);
    this.#lists = new NumberLists(row);
  }

  /** Writes the points of the metric's data, each a message at `depth`. */
  write(metric: Fields, data: Fields, depth: number): void {
    const { parts, partCount } = data;
    for (let part = 0; part < partCount; part += 1) {
      this.#point.read(this.#row.wire, parts[3 * part + 1]!, parts[3 * part + 2]!, depth);
      const { length } = this.#row.out;
      this.#write(metric, data, depth, true);
      if ((this.#point.low(this.#kind.flags) & noRecordedValue) !== 0)
        this.#writeUnrecorded(metric, data, depth, length);
    }
  }

  /** Replaces the row of a point without a recorded value. It was read to its end first, as it may be malformed. */
  #writeUnrecorded(metric: Fields, data: Fields, depth: number, rowStart: number): void {
    this.#row.undo(rowStart);
    if (this.#isKeptAsNull) this.#write(metric, data, depth, false);
    else this.#row.leftOut += 1;
  }

  #write(metric: Fields, data: Fields, depth: number, hasValue: boolean): void {
    const [row, kind, point] = [this.#row, this.#kind, this.#point];
    const rowStart = row.out.length;
    row.key(key.timestamp);
    row.timestamp(point, 3);
    row.key(key.start);
    row.timestampOrNull(point, 2);
    row.key(key.name);
    row.text(metric, 1);
    row.key(key.description);
    row.text(metric, 2);
    row.key(key.unit);
    row.text(metric, 3);
    row.name(key.type, kind.name);
    this.#aggregation(data);
    row.key(key.flags);
    row.uint32(point, kind.flags);
    if (hasValue) this.#value(depth);
    else for (const part of [noNumbers, noBuckets, noExponential, noQuantiles]) row.out.put(part);
    row.end(rowStart, point, kind.attributes, depth);
  }

  #value(depth: number): void {
    const [row, kind, point] = [this.#row, this.#kind, this.#point];
    this.#numbers();
    row.key(key.bucketCounts);
    this.#lists.fixed64s(point, kind.bucketCounts);
    row.key(key.bounds);
    this.#lists.doubles(point, kind.bounds);
    this.#exponential(depth + 1);
    this.#quantiles(depth + 1);
  }

  #aggregation(data: Fields): void {
    const [row, { temporality, isMonotonic }] = [this.#row, this.#kind];
    if (temporality === undefined) row.missing(key.temporality);
    else row.name(key.temporality, temporalities[data.low(temporality)] ?? "UNSPECIFIED");
    row.key(key.isMonotonic);
    if (isMonotonic === undefined) row.out.ascii("null");
    else row.out.ascii((data.low(isMonotonic) | data.high(isMonotonic)) === 0 ? "false" : "true");
  }

  #numbers(): void {
    const [row, { double, int, count, sum, min, max }, point] = [this.#row, this.#kind, this.#point];
    const { chosen } = point;
    this.#double(key.double, double === chosen ? double : undefined, "null");
    row.key(key.int);
    if (int === undefined || int !== chosen) row.out.ascii("null");
    else row.out.int64(row.wire.uint32(point.start(int) + 4) | 0, row.wire.uint32(point.start(int)));
    if (count === undefined) row.missing(key.count);
    else row.count(key.count, point, count);
    this.#double(key.sum, sum, this.#kind.hasSum === true ? "0" : "null");
    this.#double(key.min, min, "null");
    this.#double(key.max, max, "null");
  }

  /** Writes null where this kind does not have the field, and `absent` where this point does not. */
  #double(json: Uint8Array, number: number | undefined, absent: "0" | "null"): void {
    if (number === undefined) this.#row.missing(json);
    else this.#row.double(json, this.#point, number, absent);
  }

  #exponential(depth: number): void {
    const [row, { exponential }, point] = [this.#row, this.#kind, this.#point];
    if (exponential === undefined) {
      row.out.put(noExponential);
      return;
    }
    row.key(key.scale);
    row.sint32(point, exponential.scale);
    row.count(key.zeroCount, point, exponential.zeroCount);
    row.double(key.zeroThreshold, point, exponential.zeroThreshold, "0");
    this.#bucketsOf(exponential.positive, key.positiveOffset, key.positiveCounts, depth);
    this.#bucketsOf(exponential.negative, key.negativeOffset, key.negativeCounts, depth);
  }

  #bucketsOf(number: number, offset: Uint8Array, counts: Uint8Array, depth: number): void {
    const row = this.#row;
    this.#buckets.readParts(row.wire, this.#point, number, depth);
    row.key(offset);
    row.sint32(this.#buckets, 1);
    row.key(counts);
    this.#lists.varints(this.#buckets, 2);
  }

  #quantiles(depth: number): void {
    const [{ out }, { quantiles }] = [this.#row, this.#kind];
    if (quantiles === undefined) {
      out.put(noQuantiles);
      return;
    }
    out.put(key.quantiles);
    this.#lists.doublesOf(this.#point, quantiles, 1, depth);
    out.put(key.quantileValues);
    this.#lists.doublesOf(this.#point, quantiles, 2, depth);
  }
}
