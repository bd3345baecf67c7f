import { Fields } from "./fields.ts";
import type { ItemRows } from "./request.ts";
import { idBytes, type RowWriter } from "./row-writer.ts";

const listKey = {
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
class SpanLists {
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
    this.#list(listKey.events, span, number, (start, end) => {
      event.read(row.wire, start, end, depth);
      row.key(listKey.timestamp);
      row.timestamp(event, 1);
      row.key(listKey.name);
      row.text(event, 2);
      row.attributes(event, 3, depth);
      row.key(listKey.dropped);
      row.uint32(event, 4);
    });
  }

  /** Writes those that are parts `number` of the span, each a message at `depth`. */
  links(span: Fields, number: number, depth: number): void {
    const [row, link] = [this.#row, this.#link];
    this.#list(listKey.links, span, number, (start, end) => {
      link.read(row.wire, start, end, depth);
      row.idIfValid(listKey.traceId, link, 1, idBytes.trace);
      row.idIfValid(listKey.spanId, link, 2, idBytes.span);
      row.textUnlessEmpty(listKey.traceState, link, 3);
      row.attributes(link, 4, depth);
      row.key(listKey.dropped);
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
const [traceId, spanId, parentId, startTime, endTime] = [1, 2, 4, 7, 8];

/** The fewest bytes of a row without its resource and scope. */
const leastRow = 250;

/** Makes a row of each span. */
export class SpanRows implements ItemRows {
  readonly #row: RowWriter;
  readonly #lists: SpanLists;
  readonly #status = new Fields({ fields: { 2: "text", 3: "varint" } });
  readonly #span = new Fields({
    fields: {
      [traceId]: "text",
      [spanId]: "text",
      3: "text",
      [parentId]: "text",
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
    row.idIfValid(key.traceId, span, traceId, idBytes.trace);
    row.idIfValid(key.spanId, span, spanId, idBytes.span);
    row.idIfValid(key.parentId, span, parentId, idBytes.span);
    row.textUnlessEmpty(key.traceState, span, 3);
    row.key(key.flags);
    row.fixed32(span, 16);
    row.key(key.name);
    row.text(span, 5);
    row.name(key.kind, kinds[span.low(6)] ?? "UNSPECIFIED");
    row.key(key.start);
    row.timestamp(span, startTime, endTime);
    row.key(key.end);
    row.timestamp(span, endTime, startTime);
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
    if (this.#hasValidIds()) return;
    // It was read to its end first: a malformed one makes the request malformed.
    row.undo(rowStart);
    row.refused += 1;
  }

  leastBytes(_start: number, _end: number, _depth: number, shared: number): number {
    return leastRow + shared;
  }

  /** Without its ids a span is invalid, says the protocol; with a parent of another length it would be stored as a root. */
  #hasValidIds(): boolean {
    const [row, span] = [this.#row, this.#span];
    const isRoot = row.isZero(span, parentId);
    return (
      row.isValidId(span, traceId, idBytes.trace) &&
      row.isValidId(span, spanId, idBytes.span) &&
      (isRoot || row.isValidId(span, parentId, idBytes.span))
    );
  }

  /** 0 for a span that ends before it starts, or of which the start or the end is unknown. */
  #duration(): void {
    const [{ out, wire }, span] = [this.#row, this.#span];
    out.put(key.duration);
    if (!this.#row.isKnown(span, startTime) || !this.#row.isKnown(span, endTime)) {
      out.digits(0);
      return;
    }
    const [start, end] = [span.start(startTime), span.start(endTime)];
    const [startHigh, startLow] = [wire.uint32(start + 4), wire.uint32(start)];
    const [endHigh, endLow] = [wire.uint32(end + 4), wire.uint32(end)];
    const borrow = endLow < startLow ? 1 : 0;
    const high = endHigh - startHigh - borrow;
    if (high < 0) out.digits(0);
    else out.uint64(high, endLow - startLow);
  }
}
