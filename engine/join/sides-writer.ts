import type { SchemaField } from "../../schemas/pipeline.ts";
import type { Rejection } from "../core/dead-letter.ts";
import type { RowWriter } from "../core/sink.ts";
import type { Event } from "../event/event.ts";
import { fieldReader, keysRead, type ReadField } from "../event/field-path.ts";
import { FieldPick } from "../event/fields.ts";
import type { Fingerprints } from "../keys/fingerprint.ts";
import { joinKeyText, keyKindOf, keyReader, type KeyReader } from "../keys/key-reader.ts";
import { ArrivalWriter } from "./arrivals.ts";
import type { Side } from "./buffered-events.ts";
import type { OutputField } from "./row-fields.ts";

/** What the join needs to know of one of its sides. */
export interface SideConfig {
  side: Side;
  /** The field that must be equal on both sides. */
  key: string;
  outputs: readonly OutputField[];
  /** Fields for which an earlier step has checked every event of the side: it may lack those that are not required. */
  declared: readonly SchemaField[];
}

/** Reads what the join needs of the events of one side. */
export class SideReader {
  readonly side: Side;
  /** Keys of the events whose values it reads. */
  readonly reads: readonly string[];
  readonly #name: string;
  readonly #key: KeyReader;
  /** The selected fields that an event may lack. */
  readonly #open: readonly { name: string; read: ReadField }[];
  readonly #pick: FieldPick;

  constructor({ side, key, outputs, declared }: SideConfig, prints: Fingerprints) {
    const given = new Set(declared.map(({ name }) => name));
    const open = [...new Set(outputs.map(({ name }) => name))].filter((name) => !given.has(name));
    this.side = side;
    this.#name = key;
    this.#key = keyReader([key], prints, joinKeyText);
    this.#open = open.map((name) => ({ name, read: fieldReader(name) }));
    const keys = open.flatMap(keysRead);
    this.#pick = new FieldPick(keys);
    this.reads = [...new Set([...this.#key.reads, ...keys])];
  }

  /** Why an event cannot be joined. */
  rejectionOf(event: Event): Rejection | undefined {
    const error = this.#problem(event);
    if (error === undefined) return undefined;
    const { text: original_message, position } = event;
    return { component: "join", reason: "parse_error", error, original_message, position };
  }

  /** Adds an event; the last call of `rejectionOf` was for it, and returned nothing. */
  add(event: Event, into: ArrivalWriter): void {
    into.add(this.side, this.#key.print, event.bytes);
  }

  #problem(event: Event): string | undefined {
    if (!this.#key.makePrint(event)) {
      const [, value] = this.#key.missing(event);
      const missing = value === undefined || value === null ? " is missing" : "";
      return `join key ${this.#name} of the ${this.side} side${missing}: expected a string, a number or a bool, found ${keyKindOf(value)}`;
    }
    if (this.#open.length === 0) return undefined;
    const record = this.#pick.of(event) ?? {};
    const missing = this.#open.find(({ read }) => read(record) === undefined);
    return missing && `field ${missing.name} of the ${this.side} side is missing: expected a value, found nothing`;
  }
}

/** Writes the events of a batch for the join. */
export class SidesWriter implements RowWriter {
  readonly isCurrent = true;
  readonly #sides: (origin: string | undefined) => readonly SideReader[];
  readonly #arrivals: ArrivalWriter;

  /** `sides`: the sides that events of an origin belong to; both, where the sides read one topic. `clock`: see `ArrivalWriter`. */
  constructor(sides: (origin: string | undefined) => readonly SideReader[], clock: number) {
    this.#sides = sides;
    this.#arrivals = new ArrivalWriter(clock);
  }

  get size(): number {
    return this.#arrivals.size;
  }

  add(events: readonly Event[]): Rejection[] {
    const rejected: Rejection[] = [];
    for (const event of events) {
      const rejection = this.#add(event, this.#sides(event.origin));
      if (rejection !== undefined) rejected.push(rejection);
    }
    return rejected;
  }

  body(): Buffer {
    return this.#arrivals.body();
  }

  /** An event joins on all of its sides, or on none. */
  #add(event: Event, sides: readonly SideReader[]): Rejection | undefined {
    if (sides.length === 0) return ofNoSide(event);
    for (const side of sides) {
      const rejection = side.rejectionOf(event);
      if (rejection !== undefined) return rejection;
      if (sides.length === 1) side.add(event, this.#arrivals);
    }
    if (sides.length === 1) return undefined;
    for (const side of sides) {
      side.rejectionOf(event);
      side.add(event, this.#arrivals);
    }
    return undefined;
  }
}

/** An event of a topic that the pipeline does not read any more: a dead letter that was sent again. */
function ofNoSide({ text: original_message, position, origin }: Event): Rejection {
  const error = `events of ${origin} belong to no side of the join: expected the topic of one of its sources`;
  return { component: "join", reason: "schema_mismatch", error, original_message, position };
}
