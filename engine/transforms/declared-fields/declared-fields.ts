import { isUtf8 } from "node:buffer";
import type { FieldType, SchemaField } from "../../../schemas/pipeline.ts";
import type { Event } from "../../event/event.ts";
import type { Rejection } from "../../core/dead-letter.ts";
import { EventScan } from "../../event/scan.ts";
import { whyNoObject } from "../../event/not-an-object.ts";
import { FieldNotes, FieldPick } from "../../event/fields.ts";
import { fieldReader, keysRead, type ReadField } from "../../event/field-path.ts";
import type { RowWalks } from "../../event/raw-json.ts";
import type { JsonKind } from "../../event/raw-keys.ts";
import type { Transform, TransformResult } from "../../core/transform.ts";

interface DeclaredField {
  name: string;
  kind: JsonKind;
  isRequired: boolean;
  read: ReadField;
}

const kinds: Record<FieldType, JsonKind> = {
  string: "string",
  bool: "bool",
  int: "number",
  uint: "number",
  float: "number",
  array: "array",
  map: "object",
};

/** What later steps need to know of events, which the scan of their bytes finds for them. */
export interface Wanted {
  /** Top-level keys whose values will be read. */
  keys: readonly string[];
  /**
   * The checks whether the bytes of events are valid rows; called for each part of a batch, because a table may change.
   */
  rows: () => RowWalks | undefined;
}

const nothing: Wanted = { keys: [], rows: () => undefined };

/**
 * The first step for every source of JSON events: each declared field must be present, not null and of its kind; one that
 * is not required may be absent or null (docs/pipelines.md, Declared fields). Fields that are not declared are kept. An
 * event that breaks this is a dead letter of the component `ingestor`.
 *
 * A scan of the bytes passes most events. For the others the parsed value decides. Where no field is declared, as for
 * OTLP, whose rows may leave fields out, the scan still collects what later steps need.
 */
export class DeclaredFields implements Transform {
  readonly name = "ingestor";
  readonly #fields: readonly DeclaredField[];
  /** The fields whose name has a dot: a key, or a path. */
  readonly #dotted: readonly DeclaredField[];
  readonly #dottedPick: FieldPick;
  readonly #noted: readonly string[];
  /** A name is declared twice, maybe with two kinds, which no event can satisfy. */
  readonly #isContradictory: boolean;
  readonly #rows: Wanted["rows"];
  readonly #skipsTombstones: boolean;
  #scan: { of: EventScan; rows: RowWalks | undefined };

  /** `skipsTombstones`: records with a null value are dropped, and no dead letters. */
  constructor(fields: readonly SchemaField[], { keys, rows } = nothing, { skipsTombstones = false } = {}) {
    this.#skipsTombstones = skipsTombstones;
    this.#fields = fields.map(({ name, type, required }) => ({
      name,
      kind: kinds[type],
      isRequired: required !== false,
      read: fieldReader(name),
    }));
    this.#isContradictory = new Set(this.#fields.map(({ name }) => name)).size < fields.length;
    this.#dotted = this.#fields.filter(({ name }) => name.includes("."));
    const dottedKeys = this.#dotted.flatMap(({ name }) => keysRead(name));
    this.#dottedPick = new FieldPick(dottedKeys);
    this.#noted = [...new Set([...keys, ...dottedKeys])];
    this.#rows = rows;
    this.#scan = this.#newScan();
  }

  apply(events: readonly Event[]): TransformResult {
    const passed: Event[] = [];
    const rejected: Rejection[] = [];
    if (this.#rows() !== this.#scan.rows) this.#scan = this.#newScan();
    const notes = new FieldNotes(this.#noted, events.length);
    let dropped = 0;
    for (let place = 0; place < events.length; place += 1) {
      const event = events[place]!;
      if (this.#skipsTombstones && event.isTombstone) {
        dropped += 1;
        continue;
      }
      const problem = this.#isSound(event, notes, place) ? undefined : this.#problem(event);
      if (problem === undefined) passed.push(event);
      else rejected.push(rejection(event, problem));
    }
    return { passed, dropped, rejected };
  }

  #newScan(): { of: EventScan; rows: RowWalks | undefined } {
    const rows = this.#rows();
    const plain = this.#fields.filter(({ name }) => !name.includes("."));
    const kindsOf = (isRequired: boolean): ReadonlyMap<string, JsonKind> =>
      new Map(plain.filter((field) => field.isRequired === isRequired).map(({ name, kind }) => [name, kind]));
    const plan = { declared: kindsOf(true), optional: kindsOf(false), noted: this.#noted, rows };
    return { of: new EventScan(plan), rows };
  }

  /** Whether the scan shows that an event is valid. */
  #isSound(event: Event, notes: FieldNotes, place: number): boolean {
    const { of: scan } = this.#scan;
    if (!scan.passes(event, notes, place) || !scan.hasDeclared || this.#isContradictory) return false;
    if (this.#dotted.length === 0) return true;
    const record = this.#dottedPick.of(event)!;
    return this.#dotted.every((field) => problemOf(field, record) === undefined);
  }

  #problem(event: Event): string | undefined {
    if (event.isTombstone) return "expected a JSON object, found a tombstone (null value)";
    // The scan passes only UTF-8. JSON.parse would silently replace invalid bytes by U+FFFD.
    const record = isText(event) ? event.record : undefined;
    if (record === undefined || isNull(event)) return `expected a JSON object${whyNoObject(event.bytes) ?? ""}`;
    for (const field of this.#fields) {
      const problem = problemOf(field, record);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
}

function problemOf(
  { name, kind, isRequired, read }: DeclaredField,
  record: Record<string, unknown>,
): string | undefined {
  const found = kindOf(read(record));
  if (found === kind) return undefined;
  if (found !== "nothing" && found !== "null") return `field ${name}: expected ${kind}, found ${found}`;
  return isRequired ? `field ${name} is missing: expected ${kind}, found ${found}` : undefined;
}

function kindOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "boolean") return "bool";
  // JSON.parse reads 1e400 as Infinity, which fits no column and no comparison.
  if (typeof value === "number" && !Number.isFinite(value)) return "number beyond the range of 64-bit floats";
  return typeof value === "bigint" ? "number" : typeof value;
}

/** As the whole event, null is no object: nothing behind this step expects it. */
function isNull(event: Event): boolean {
  return event.value === null;
}

function isText({ received }: Event): boolean {
  return received === undefined || isUtf8(received);
}

/** The dead letter of an event. Bytes that are not text are kept as base64, which loses nothing. */
function rejection(event: Event, problem: string): Rejection {
  const written: Pick<Rejection, "original_message" | "encoding"> = isText(event)
    ? { original_message: event.text }
    : { original_message: event.bytes.toString("base64"), encoding: "base64" };
  const error = `failed to validate data: ${problem}`;
  return { component: "ingestor", reason: "parse_error", error, ...written, position: event.position };
}
