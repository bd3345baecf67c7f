import type { Mapping } from "../../../../schemas/pipeline.ts";
import type { FedField } from "../../../core/transform.ts";
import type { Event } from "../../../event/event.ts";
import { lostDigitsIn, withLostDigits } from "../../../event/lost-digits.ts";
import type { Rejection } from "../../../core/dead-letter.ts";
import type { RowWalks } from "../../../event/raw-json.ts";
import { isStructured } from "../columns/column-type.ts";
import { rowWalksOf, RawEvents } from "./raw-rows.ts";
import { type RowBody, constantOf } from "./row-body.ts";
import { type Column, columnOf, type NullRule, type RealColumn } from "./row-column.ts";
import { configuredType } from "../columns/column-grammar.ts";
import { shown } from "./values.ts";

const [closing, empty] = [constantOf("}"), constantOf("{}")];

/** Values of every kind and notation. The first is of a missing field, which most columns take. */
const sampleValues: readonly unknown[] = [
  null,
  0,
  1,
  -1,
  0.5,
  true,
  "",
  "a",
  "1",
  "2020-01-01",
  "2020-01-01 00:00:00",
  "2020-01-01T00:00:00Z",
  "00000000-0000-0000-0000-000000000000",
  "127.0.0.1",
  "::1",
  [],
  {},
];

/** Columns of the table as it is, by their names. */
export type RealColumns = ReadonlyMap<string, RealColumn>;

/**
 * Turns events into lines of JSONEachRow. The mapping is compiled once; a line is made in one pass, without an object
 * for the row. Where the column types of the table are known, they decide how a value is written and what null becomes;
 * a value must fit the configured type as well. If the bytes of an event are such a line already, or one that gives the
 * same row, they are copied.
 */
export class RowEncoder {
  /** Sorted by name, as the insert lists them. */
  readonly columnNames: readonly string[];
  /** Whether a column holds JSON or tuples. */
  readonly isStructured: boolean;
  readonly #columns: readonly Column[];
  readonly #needsDigits: boolean;
  readonly #raw: RawEvents;

  /** Throws an Error that names the field and column where the mapping cannot be written. */
  constructor(
    mapping: readonly Mapping[],
    schema: readonly FedField[],
    real: RealColumns = new Map(),
    rule?: NullRule,
  ) {
    if (mapping.length === 0) throw new Error("sink.mapping: expected at least one entry, got none");
    const sorted = mapping.toSorted((one, other) => (one.column_name < other.column_name ? -1 : 1));
    this.columnNames = sorted.map((entry) => entry.column_name);
    this.isStructured = mapping.some((entry) =>
      isStructured(real.get(entry.column_name)?.type ?? configuredType(entry)),
    );
    this.#columns = sorted.map((entry) => columnOf(entry, schema, real.get(entry.column_name), rule));
    this.#needsDigits = this.#columns.some(({ needsDigits }) => needsDigits);
    this.#raw = new RawEvents(rowWalksOf(mapping, schema, real, rule));
  }

  /** The columns that get a zero value for null, and whose field may be null. */
  get zeroed(): string[] {
    return this.columnNames.filter((_, index) => this.#columns[index]!.mayBeZeroed);
  }

  /** The walks for events whose own bytes can be rows; undefined where none can. */
  get rowWalks(): RowWalks | undefined {
    return this.#raw.walks;
  }

  /** Adds the row of an event to a body; returns a rejection where its values do not fit their columns. */
  add(event: Event, body: RowBody): Rejection | undefined {
    if (!this.#raw.add(event, body)) {
      const { value } = event;
      if (this.#losesDigits(event) || !this.#add(value, body)) return this.#reject(event);
    }
    body.endRow();
    return undefined;
  }

  /** Whether a parse of the event changed a number of which a column needs the digits. */
  #losesDigits({ received }: Event): boolean {
    const spelled = this.#needsDigits && received !== undefined ? withLostDigits(received) : undefined;
    return (
      spelled !== undefined &&
      this.#columns.some((column) => column.needsDigits && lostDigitsIn(column.read(spelled)) !== undefined)
    );
  }

  /** Adds the row of a value; adds nothing where it does not fit. */
  #add(value: Record<string, unknown>, body: RowBody): boolean {
    const { length } = body;
    let isFirst = true;
    for (const { first, next, read, whenNull, direct, converter } of this.#columns) {
      const found = read(value);
      const fate = fateOf(whenNull, found, value);
      if (fate === "omitted") continue;
      if (fate !== "converted") {
        body.cutTo(length);
        return false;
      }
      body.addConstant(isFirst ? first : next);
      isFirst = false;
      if (direct(found, body)) continue;
      const text = converter.convert(found);
      if (text === undefined) {
        body.cutTo(length);
        return false;
      }
      body.addJson(text);
    }
    body.addConstant(isFirst ? empty : closing);
    return true;
  }

  /**
   * Rows of values that fit their columns, for the question whether the table takes any; undefined where a column takes
   * none of the values that are tried.
   */
  samples(): string[] | undefined {
    const texts = this.#columns.map(({ converter }) => [
      ...new Set(sampleValues.map((value) => converter.convert(value)).filter((text) => text !== undefined)),
    ]);
    if (texts.some((of) => of.length === 0)) return undefined;
    return Array.from({ length: Math.max(...texts.map((of) => of.length)) }, (_, row) => {
      const fields = texts.map((of, at) => `${JSON.stringify(this.columnNames[at])}:${of[row % of.length]}`);
      return `{${fields.join(",")}}\n`;
    });
  }

  #reject(event: Event): Rejection {
    const { value, received } = event;
    const spelled = received === undefined ? undefined : withLostDigits(received);
    const errors = this.#columns.flatMap((column) => {
      const lost = spelled && lostDigitsIn(column.read(spelled));
      return misfitOf(column, value, lost);
    });
    return {
      component: "sink",
      reason: "schema_mismatch",
      error: errors.slice(0, 3).join("; ") + (errors.length > 3 ? `; and ${errors.length - 3} more` : ""),
      original_message: event.text,
      position: event.position,
    };
  }
}

const expectedRecorded =
  "expected a Nullable column in the table, as in the mapping, for a data point without a recorded value, got null";

const expectedDigits =
  "expected a number with digits that a 64-bit float holds (a whole one without a point or an exponent, or a string, keeps more)";

/** What a column does with what it read from an event: the last two make the event a dead letter. */
function fateOf(
  whenNull: Column["whenNull"],
  found: unknown,
  event: Record<string, unknown>,
): "converted" | "omitted" | "refused" | "unrecorded" {
  if (whenNull === "converted" || (found !== null && found !== undefined)) return "converted";
  if (typeof whenNull === "string") return whenNull;
  return whenNull(event) ? "unrecorded" : "converted";
}

/** Why a value does not fit a column; empty where it does. `lost` is a number in it whose digits a parse changed. */
function misfitOf(column: Column, value: Record<string, unknown>, lost: string | undefined): string[] {
  const { read, given, whenNull, converter, subject } = column;
  const found = read(value);
  const fate = fateOf(whenNull, found, value);
  if (fate === "omitted") return [];
  if (fate === "refused") return [`${subject}: expected a value, as x-sluice.null is reject, got null`];
  if (fate === "unrecorded") return [`${subject}: ${expectedRecorded}`];
  if (converter.convert(found) !== undefined)
    return lost === undefined || !column.needsDigits
      ? []
      : [`${subject}: ${expectedDigits}, got ${lost.slice(0, shown)}`];
  // Neither null nor a zero that stands for it fits: what the column expects of a value is not the point.
  const isNull = (given(value) ?? null) === null;
  if (isNull) return [`${subject}: expected a value or a Nullable column, got null`];
  const why = converter.explain(found);
  // The number itself is told as it was sent.
  const isSent = lost !== undefined && typeof found === "number";
  return [`${subject}: ${isSent ? `${why.slice(0, why.lastIndexOf(", got "))}, got ${lost.slice(0, shown)}` : why}`];
}
