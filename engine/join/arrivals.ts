import type { Side } from "./buffered-events.ts";

/**
 * The events of one batch on their way to the join, as the body of an "insert": the batch clock (f64), then each event:
 * side (u8), fingerprint of its key (4 x u32), length (u32), bytes. All numbers are little-endian.
 */
const bodyHead = 8;
const eventHead = 21;
const firstCapacity = 64 * 1024;

/** Collects arrivals. */
export class ArrivalWriter {
  #bytes = Buffer.allocUnsafe(firstCapacity);
  #end = bodyHead;

  /** `clock`: when its events arrive, in milliseconds since the epoch. */
  constructor(clock: number) {
    this.#bytes.writeDoubleLE(clock, 0);
  }

  get size(): number {
    return this.#end - bodyHead;
  }

  add(side: Side, print: Uint32Array, event: Buffer): void {
    this.#reserve(eventHead + event.length);
    const bytes = this.#bytes;
    let at = bytes.writeUInt8(side === "right" ? 1 : 0, this.#end);
    for (let word = 0; word < 4; word += 1) at = bytes.writeUInt32LE(print[word]!, at);
    at = bytes.writeUInt32LE(event.length, at);
    this.#end = at + event.copy(bytes, at);
  }

  body(): Buffer {
    return this.#bytes.subarray(0, this.#end);
  }

  #reserve(bytes: number): void {
    if (this.#end + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.#end + bytes));
    this.#bytes.copy(larger, 0, 0, this.#end);
    this.#bytes = larger;
  }
}

/** An event of a body. */
export interface ArrivedEvent {
  side: Side;
  print: Uint32Array;
  /** Where its bytes lie in the body. */
  start: number;
  length: number;
}

/** When the events of a body arrived. */
export function clockOf(body: Buffer): number {
  return body.readDoubleLE(0);
}

/** The events of a body in their order. Each is good until the next one is taken. */
export function* arrivalsOf(body: Buffer): Iterable<ArrivedEvent> {
  const event: ArrivedEvent = { side: "left", print: new Uint32Array(4), start: 0, length: 0 };
  for (let at = bodyHead; at < body.length; at = event.start + event.length) {
    event.side = body[at] === 1 ? "right" : "left";
    for (let word = 0; word < 4; word += 1) event.print[word] = body.readUInt32LE(at + 1 + 4 * word);
    event.length = body.readUInt32LE(at + 17);
    event.start = at + eventHead;
    yield event;
  }
}
