import type { Location, Side } from "./buffered-events.ts";
import type { JoinLog } from "./log.ts";
import type { RowFields } from "./row-fields.ts";

/** A left and a right event that match. */
export interface Pair {
  left: Location;
  right: Location;
}

/** Pairs whose rows are made together, and the bytes of buffered events that are read for them at once, about. */
const [windowPairs, windowBytes] = [8_192, 16 * 1024 * 1024];
/** What rows need of right events is kept, up to so many bytes: one right event often matches many. */
const keptBytes = 16 * 1024 * 1024;

/** Makes the rows of pairs: reads buffered events from the log, and puts together what both sides give. */
export class StepRows {
  readonly #log: Pick<JoinLog, "entries">;
  readonly #fields: Readonly<Record<Side, RowFields>>;
  /** The members that right events give to rows, by their place. */
  readonly #kept = new Map<number, Buffer>();
  #keptBytes = 0;

  constructor(log: Pick<JoinLog, "entries">, fields: Readonly<Record<Side, RowFields>>) {
    this.#log = log;
    this.#fields = fields;
  }

  /** The rows of the pairs of a step, in their order, some thousands at a time; `body` has its events. */
  async *of({ pairs, body }: { pairs: readonly Pair[]; body: Buffer }): AsyncGenerator<Buffer[]> {
    const inBody = new Map<number, Buffer>();
    const fromBody = ({ offset, length }: Location, side: Side): Buffer => {
      const known = inBody.get(offset);
      if (known !== undefined) return known;
      const members = this.#fields[side].of(body, offset, offset + length);
      // A left event of the body joins once, a right one often many times.
      if (side === "right") inBody.set(offset, members);
      return members;
    };
    for (let from = 0; from < pairs.length;) {
      const to = windowEnd(pairs, from);
      const window = pairs.slice(from, to);
      const [lefts, rights] = await Promise.all([
        this.#membersOf(
          window.map(({ left }) => left),
          "left",
        ),
        this.#rightMembers(window.map(({ right }) => right)),
      ]);
      yield window.map(({ left, right }) => {
        const leftMembers = left.segment === 0 ? fromBody(left, "left") : lefts.get(placeOf(left))!;
        const rightMembers = right.segment === 0 ? fromBody(right, "right") : rights.get(placeOf(right))!;
        return rowOf(leftMembers, rightMembers);
      });
      from = to;
    }
  }

  /** The members that right events on disk give, by their place. Those that were read lately are kept. */
  async #rightMembers(places: readonly Location[]): Promise<Map<number, Buffer>> {
    const members = new Map<number, Buffer>();
    const missing: Location[] = [];
    for (const place of places) {
      const kept = this.#kept.get(placeOf(place));
      if (kept === undefined) missing.push(place);
      else members.set(placeOf(place), kept);
    }
    for (const [place, bytes] of await this.#membersOf(missing, "right")) {
      members.set(place, bytes);
      if (this.#keptBytes + bytes.length > keptBytes) {
        this.#kept.clear();
        this.#keptBytes = 0;
      }
      this.#kept.set(place, bytes);
      this.#keptBytes += bytes.length;
    }
    return members;
  }

  /** The members that events on disk give, by their place. */
  async #membersOf(places: readonly Location[], side: Side): Promise<Map<number, Buffer>> {
    const unique = new Map<number, Location>();
    for (const place of places) if (place.segment !== 0) unique.set(placeOf(place), place);
    const wanted = [...unique.values()];
    const found = await this.#log.entries(wanted);
    return new Map(
      wanted.map((place, index) => [placeOf(place), this.#fields[side].of(found[index]!, 0, found[index]!.length)]),
    );
  }
}

/** A number for the place of an event on disk. */
function placeOf({ segment, offset }: Location): number {
  return segment * 2 ** 34 + offset;
}

/** Where the pairs end whose rows are made together with that of `from`. */
function windowEnd(pairs: readonly Pair[], from: number): number {
  let bytes = 0;
  let to = from;
  for (; to < pairs.length && to - from < windowPairs && bytes < windowBytes; to += 1) {
    const { left, right } = pairs[to]!;
    if (left.segment !== 0) bytes += left.length;
    if (right.segment !== 0) bytes += right.length;
  }
  return to;
}

const [open, comma, close] = ["{", ",", "}"].map((text) => Buffer.from(text)) as [Buffer, Buffer, Buffer];

function rowOf(left: Buffer, right: Buffer): Buffer {
  const between = left.length > 0 && right.length > 0 ? [comma] : [];
  return Buffer.concat([open, left, ...between, right, close]);
}
