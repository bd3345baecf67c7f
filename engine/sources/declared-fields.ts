import type { FieldType, SchemaField } from "../../schemas/pipeline.ts";
import type { Event } from "../core/batch.ts";
import type { Rejection } from "../core/dead-letter.ts";
import { fieldReader, type ReadField } from "../core/field-path.ts";
import type { Transform, TransformResult } from "../core/transform.ts";

interface DeclaredField {
  name: string;
  kind: string;
  read: ReadField;
}

const kinds: Record<FieldType, string> = {
  string: "string",
  bool: "bool",
  int: "number",
  uint: "number",
  float: "number",
  array: "array",
  map: "object",
};

/**
 * What every source of JSON events does first: each declared field must be present, not null and of its kind
 * (the specification, engine semantics, section 4). Fields that are not declared are kept. An event that breaks this
 * is a dead letter of the component `ingestor`.
 */
export class DeclaredFields implements Transform {
  readonly name = "ingestor";
  readonly #fields: readonly DeclaredField[];

  constructor(fields: readonly SchemaField[]) {
    this.#fields = fields.map(({ name, type }) => ({ name, kind: kinds[type], read: fieldReader(name) }));
  }

  apply(events: readonly Event[]): TransformResult {
    const passed: Event[] = [];
    const rejected: Rejection[] = [];
    for (const event of events) {
      const problem = this.#problem(event);
      if (problem === undefined) passed.push(event);
      else rejected.push(rejection(event, problem));
    }
    return { passed, dropped: 0, rejected };
  }

  #problem(event: Event): string | undefined {
    const { record } = event;
    if (record === undefined) return "expected a JSON object";
    for (const { name, kind, read } of this.#fields) {
      const found = kindOf(read(record));
      if (found === "nothing" || found === "null") return `field ${name} is missing: expected ${kind}, found ${found}`;
      if (found !== kind) return `field ${name}: expected ${kind}, found ${found}`;
    }
    return undefined;
  }
}

function kindOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "boolean") return "bool";
  // JSON.parse reads 1e400 as Infinity, which no column and no comparison can mean.
  if (typeof value === "number" && !Number.isFinite(value)) return "number beyond the range of 64-bit floats";
  return typeof value === "bigint" ? "number" : typeof value;
}

function rejection({ text, position }: Event, problem: string): Rejection {
  const error = `failed to validate data: ${problem}`;
  return { component: "ingestor", reason: "parse_error", error, original_message: text, position };
}
