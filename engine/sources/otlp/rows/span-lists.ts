import { Fields } from "./fields.ts";
import type { RowWriter } from "./row-writer.ts";

const key = {
  events: Buffer.from(',"events":'),
  links: Buffer.from(',"links":'),
  timestamp: Buffer.from(',"timestamp":'),
  name: Buffer.from(',"name":'),
  traceId: Buffer.from(',"trace_id":'),
  spanId: Buffer.from(',"span_id":'),
  traceState: Buffer.from(',"trace_state":'),
  dropped: Buffer.from(',"dropped_attributes_count":'),
};
const [openArray, closeArray, comma] = Buffer.from("[],");

/** Writes the events and the links of a span. */
export class SpanLists {
  readonly #row: RowWriter;
  readonly #event = new Fields({ fields: { 1: "fixed64", 2: "text", 3: "message", 4: "varint" } });
  readonly #link = new Fields({
    fields: { 1: "text", 2: "text", 3: "text", 4: "message", 5: "varint", 6: "fixed32" },
  });

  constructor(row: RowWriter) {
    this.#row = row;
  }

  /** Writes those that are parts `number` of the span, each a message at `depth`. */
  events(span: Fields, number: number, depth: number): void {
    const [row, event] = [this.#row, this.#event];
    this.#list(key.events, span, number, (start, end) => {
      event.read(row.wire, start, end, depth);
      row.key(key.timestamp);
      row.timestamp(event, 1);
      row.key(key.name);
      row.text(event, 2);
      row.attributes(event, 3, depth);
      row.key(key.dropped);
      row.uint32(event, 4);
    });
  }

  /** Writes those that are parts `number` of the span, each a message at `depth`. */
  links(span: Fields, number: number, depth: number): void {
    const [row, link] = [this.#row, this.#link];
    this.#list(key.links, span, number, (start, end) => {
      link.read(row.wire, start, end, depth);
      row.idUnlessEmpty(key.traceId, link, 1);
      row.idUnlessEmpty(key.spanId, link, 2);
      row.textUnlessEmpty(key.traceState, link, 3);
      row.attributes(link, 4, depth);
      row.key(key.dropped);
      row.uint32(link, 5);
    });
  }

  #list(json: Uint8Array, of: Fields, number: number, members: (start: number, end: number) => void): void {
    const { out } = this.#row;
    out.put(json);
    out.byte(openArray!);
    let isFirst = true;
    for (let part = 0; part < of.partCount; part += 1) {
      if (of.parts[3 * part] !== number) continue;
      if (!isFirst) out.byte(comma!);
      isFirst = false;
      const itemStart = out.length;
      members(of.parts[3 * part + 1]!, of.parts[3 * part + 2]!);
      this.#row.close(itemStart);
    }
    out.byte(closeArray!);
  }
}
