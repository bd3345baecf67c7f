import type { Mapping, SchemaField } from "../../../schemas/pipeline.ts";
import { RowEncoder, type RealTypes } from "./row-encoder.ts";

/**
 * The fields that feed a sink, by the origin of events; `undefined` is for those of any other origin. Without fields:
 * events of a source that is there no more.
 */
export type Schemas = ReadonlyMap<string | undefined, readonly SchemaField[] | undefined>;

/** The encoders of one mapping: each source of a pipeline feeds it with fields of its own. */
export class RowEncoders {
  readonly #encoders: ReadonlyMap<string | undefined, RowEncoder | undefined>;
  readonly #first: RowEncoder;

  /**
   * `undefaulted` are the columns of the table that are known to have no DEFAULT. Throws an Error that names the field and
   * column where the mapping cannot be written, or nothing feeds it.
   */
  constructor(mapping: readonly Mapping[], schemas: Schemas, real?: RealTypes, undefaulted?: ReadonlySet<string>) {
    const made = new Map<readonly SchemaField[], RowEncoder>();
    for (const schema of schemas.values()) {
      if (schema !== undefined && !made.has(schema)) {
        made.set(schema, new RowEncoder(mapping, schema, real, undefaulted));
      }
    }
    this.#encoders = new Map(Array.from(schemas, ([origin, schema]) => [origin, schema && made.get(schema)]));
    const [first] = made.values();
    if (first === undefined) throw new Error("expected fields that feed the sink, found none");
    this.#first = first;
  }

  /** For events of an origin; undefined for those of a source that is there no more. */
  of(origin: string | undefined): RowEncoder | undefined {
    return this.#encoders.get(this.#encoders.has(origin) ? origin : undefined);
  }

  get columnNames(): readonly string[] {
    return this.#first.columnNames;
  }

  get isStructured(): boolean {
    return this.#first.isStructured;
  }
}
