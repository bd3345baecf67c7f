import type { Mapping, SchemaField } from "../../../schemas/pipeline.ts";
import { RowEncoder, type RealTypes } from "./row-encoder.ts";

/** The fields that feed a sink, by the origin of events. */
export type Schemas = ReadonlyMap<string | undefined, readonly SchemaField[]>;

/** The encoders of one mapping: each source of a pipeline feeds it with fields of its own. */
export class RowEncoders {
  readonly #encoders: ReadonlyMap<string | undefined, RowEncoder>;
  readonly #first: RowEncoder;

  /**
   * `undefaulted` are the columns of the table that are known to have no DEFAULT. Throws an Error that names the field and
   * column where the mapping cannot be written, or nothing feeds it.
   */
  constructor(mapping: readonly Mapping[], schemas: Schemas, real?: RealTypes, undefaulted?: ReadonlySet<string>) {
    this.#encoders = new Map(
      Array.from(schemas, ([origin, schema]) => [origin, new RowEncoder(mapping, schema, real, undefaulted)] as const),
    );
    const [first] = this.#encoders.values();
    if (first === undefined) throw new Error("expected fields that feed the sink, found none");
    this.#first = first;
  }

  /** For events of an origin; where nothing tells events apart, for all. */
  of(origin: string | undefined): RowEncoder {
    return this.#encoders.get(origin) ?? this.#first;
  }

  get columnNames(): readonly string[] {
    return this.#first.columnNames;
  }

  get isStructured(): boolean {
    return this.#first.isStructured;
  }
}
