import { Fields } from "./fields.ts";
import type { ItemRows } from "./request.ts";
import { idBytes, type RowWriter } from "./row-writer.ts";

const key = {
  timestamp: Buffer.from(',"timestamp":'),
  observed: Buffer.from(',"observed_timestamp":'),
  severityNumber: Buffer.from(',"severity_number":'),
  severityText: Buffer.from(',"severity_text":'),
  body: Buffer.from(',"body":'),
  traceId: Buffer.from(',"trace_id":'),
  spanId: Buffer.from(',"span_id":'),
  flags: Buffer.from(',"flags":'),
  dropped: Buffer.from(',"dropped_attributes_count":'),
};

/** The fewest bytes of a row without its resource and scope. */
const leastRow = 170;

/** Makes a row of each log record. */
export class LogRows implements ItemRows {
  readonly #row: RowWriter;
  readonly #record = new Fields({
    fields: {
      1: "fixed64",
      2: "varint",
      3: "text",
      5: "message",
      6: "message",
      7: "varint",
      8: "fixed32",
      9: "text",
      10: "text",
      11: "fixed64",
    },
  });

  constructor(row: RowWriter) {
    this.#row = row;
  }

  write(start: number, end: number, depth: number): void {
    const row = this.#row;
    const record = this.#record;
    record.read(row.wire, start, end, depth);
    const rowStart = row.out.length;
    row.key(key.timestamp);
    row.timestamp(record, 1, 11);
    row.key(key.observed);
    row.timestamp(record, 11);
    row.key(key.severityNumber);
    row.enumNumber(record, 2);
    row.key(key.severityText);
    row.text(record, 3);
    row.key(key.body);
    row.values.text(row.out, record, 5, depth + 1);
    // A record with an invalid id belongs to no trace or span.
    row.idIfValid(key.traceId, record, 9, idBytes.trace);
    row.idIfValid(key.spanId, record, 10, idBytes.span);
    row.key(key.flags);
    row.fixed32(record, 8);
    row.key(key.dropped);
    row.uint32(record, 7);
    row.end(rowStart, record, 6, depth);
  }

  leastBytes(_start: number, _end: number, _depth: number, shared: number): number {
    return leastRow + shared;
  }
}
