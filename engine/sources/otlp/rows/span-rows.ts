import { Fields } from "./fields.ts";
import type { ItemRows } from "./request.ts";
import type { RowWriter } from "./row-writer.ts";
import { SpanLists } from "./span-lists.ts";

const key = {
  traceId: Buffer.from(',"trace_id":'),
  spanId: Buffer.from(',"span_id":'),
  parentId: Buffer.from(',"parent_span_id":'),
  traceState: Buffer.from(',"trace_state":'),
  flags: Buffer.from(',"flags":'),
  name: Buffer.from(',"name":'),
  kind: Buffer.from(',"kind":'),
  start: Buffer.from(',"start_timestamp":'),
  end: Buffer.from(',"end_timestamp":'),
  duration: Buffer.from(',"duration_ns":'),
  status: Buffer.from(',"status_code":'),
  statusMessage: Buffer.from(',"status_message":'),
  dropped: Buffer.from(',"dropped_attributes_count":'),
  droppedEvents: Buffer.from(',"dropped_events_count":'),
  droppedLinks: Buffer.from(',"dropped_links_count":'),
};

const kinds = ["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"];
const statuses = ["UNSET", "OK", "ERROR"];
const [startTime, endTime] = [7, 8];

/** Makes a row of each span. */
export class SpanRows implements ItemRows {
  readonly #row: RowWriter;
  readonly #lists: SpanLists;
  readonly #status = new Fields({ fields: { 2: "text", 3: "varint" } });
  readonly #span = new Fields({
    fields: {
      1: "text",
      2: "text",
      3: "text",
      4: "text",
      5: "text",
      6: "varint",
      [startTime]: "fixed64",
      [endTime]: "fixed64",
      9: "message",
      10: "varint",
      11: "message",
      12: "varint",
      13: "message",
      14: "varint",
      15: "message",
      16: "fixed32",
    },
  });

  constructor(row: RowWriter) {
    this.#row = row;
    this.#lists = new SpanLists(row);
  }

  write(start: number, end: number, depth: number): void {
    const row = this.#row;
    const span = this.#span;
    const status = this.#status;
    span.read(row.wire, start, end, depth);
    status.readParts(row.wire, span, 15, depth + 1);
    const rowStart = row.out.length;
    row.idUnlessEmpty(key.traceId, span, 1);
    row.idUnlessEmpty(key.spanId, span, 2);
    row.idUnlessEmpty(key.parentId, span, 4);
    row.textUnlessEmpty(key.traceState, span, 3);
    row.key(key.flags);
    row.fixed32(span, 16);
    row.key(key.name);
    row.text(span, 5);
    row.name(key.kind, kinds[span.low(6)] ?? "UNSPECIFIED");
    row.key(key.start);
    row.timestamp(span, startTime);
    row.key(key.end);
    row.timestamp(span, endTime);
    this.#duration();
    row.name(key.status, statuses[status.low(3)] ?? "UNSET");
    row.textUnlessEmpty(key.statusMessage, status, 2);
    row.key(key.dropped);
    row.uint32(span, 10);
    row.key(key.droppedEvents);
    row.uint32(span, 12);
    row.key(key.droppedLinks);
    row.uint32(span, 14);
    this.#lists.events(span, 11, depth + 1);
    this.#lists.links(span, 13, depth + 1);
    row.end(rowStart, span, 9, depth);
  }

  /** 0 for a span that ends before it starts. */
  #duration(): void {
    const [{ out, wire }, start, end] = [this.#row, this.#span.start(startTime), this.#span.start(endTime)];
    out.put(key.duration);
    const [startHigh, startLow] = start < 0 ? [0, 0] : [wire.uint32(start + 4), wire.uint32(start)];
    const [endHigh, endLow] = end < 0 ? [0, 0] : [wire.uint32(end + 4), wire.uint32(end)];
    const borrow = endLow < startLow ? 1 : 0;
    const high = endHigh - startHigh - borrow;
    if (high < 0) out.digits(0);
    else out.uint64(high, endLow - startLow);
  }
}
