import { Event, EventList } from "../../engine/event/event.ts";
import { blockOf, type Block, type Sink } from "../../engine/core/sink.ts";
import { RowEncoder } from "../../engine/sinks/clickhouse/encode/row-encoder.ts";
import { JsonRowWriter } from "../../engine/sinks/clickhouse/encode/json-row-writer.ts";

/** The rows of events, as a sink or its encoder writes them. */
export function encoded(by: RowEncoder | Pick<Sink, "begin">, events: readonly Event[]): Block {
  const encoders = { of: () => by as RowEncoder };
  const writer = by instanceof RowEncoder ? new JsonRowWriter(() => encoders, 0) : by.begin(0);
  const rejected = writer.add(events);
  return blockOf(EventList.of(events.map(asReceived)), writer, rejected);
}

/** The event that has the bytes of another one, which a transform may have made. */
function asReceived({ position, receivedAt, bytes }: Event): Event {
  return new Event(position, receivedAt, bytes);
}
