import { Event } from "../../event/event.ts";
import type { RecordRun } from "./protocol/record-run.ts";

/**
 * The records `from` until before `to` of a run, as events: views of its bytes, whose positions are their offsets and
 * whose origin is their topic.
 */
export function eventsOf(
  { bytes, offsets, starts, ends }: RecordRun,
  from: number,
  to: number,
  topic: string,
): Event[] {
  const events: Event[] = [];
  for (let index = from; index < to; index += 1) {
    events.push(new Event(offsets[index]!, 0, bytes, starts[index], ends[index], topic));
  }
  return events;
}
