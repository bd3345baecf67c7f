import type { JoinConfig, SchemaField } from "../../schemas/pipeline.ts";
import { Event } from "../event/event.ts";
import { writeExactly } from "../event/exact-json.ts";
import { fieldReader, keysRead, type ReadField } from "../event/field-path.ts";
import { FieldNotes } from "../event/fields.ts";
import { EventScan } from "../event/scan.ts";

/** A field that a side gives to the rows, and its name there. */
export interface OutputField {
  name: string;
  output_name: string;
}

interface Field {
  /** `"name":`, as JSON. */
  key: string;
  /** Index among the notes of the scan; -1 where the name is a path. */
  note: number;
  read: ReadField;
}

const nothing = Buffer.alloc(0);

/**
 * The members that the events of one side give to a row, as JSON text: `"order_id":17,"total":9.5`. The values are the
 * bytes of the event where those are found without a parse.
 */
export class RowFields {
  readonly #fields: readonly Field[];
  readonly #scan: EventScan;
  readonly #notes: FieldNotes;

  constructor(fields: readonly OutputField[]) {
    const noted = [...new Set(fields.flatMap(({ name }) => keysRead(name)))];
    this.#fields = fields.map(({ name, output_name }) => ({
      key: `${JSON.stringify(output_name)}:`,
      note: name.includes(".") ? -1 : noted.indexOf(name),
      read: fieldReader(name),
    }));
    this.#scan = new EventScan({ declared: new Map<string, never>(), noted, rows: undefined });
    this.#notes = new FieldNotes(noted, 1);
  }

  /** The members that an event gives: the JSON object in `bytes` from `start` until before `end`. */
  of(bytes: Buffer, start: number, end: number): Buffer {
    if (this.#fields.length === 0) return nothing;
    const event = new Event(0, 0, bytes, start, end);
    this.#notes.places.fill(0);
    const isNoted = this.#scan.passes(event, this.#notes, 0);
    const members = this.#fields.map((field) => this.#member(event, field, isNoted));
    return Buffer.from(members.join(","));
  }

  #member(event: Event, { key, note, read }: Field, isNoted: boolean): string {
    if (isNoted && note !== -1) {
      const at = this.#notes.at(0, note);
      const begin = Math.abs(this.#notes.places[at]!);
      if (begin > 0) {
        const last = event.start + this.#notes.places[at + 1]!;
        return key + event.within!.toString("utf8", event.start + begin, last);
      }
    }
    const value = read(event.record ?? {});
    return key + (value === undefined ? "null" : writeExactly(value));
  }
}

/** What a source gives to the rows of a join. */
export function outputsOf({ output_fields }: JoinConfig, source_id: string): JoinConfig["output_fields"] {
  return output_fields.filter((output) => output.source_id === source_id);
}

/** The fields of the joined events, as the sink gets them. `fieldOf`: the field of that name of a source. */
export function joinedFields(
  outputs: readonly { source_id: string; name: string; output_name: string }[],
  fieldOf: (source_id: string, name: string) => SchemaField | undefined,
): SchemaField[] {
  return outputs.flatMap(({ source_id, name, output_name }) => {
    const field = fieldOf(source_id, name);
    return field === undefined ? [] : [{ ...field, name: output_name }];
  });
}
