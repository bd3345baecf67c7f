import type { FieldNotes } from "./fields.ts";
import { gapEnd, isPlainText, padding, type RowWalks, textEnd, valueEnd } from "./raw-json.ts";
import { anyKind, type JsonKind, type KeyChecks, kindBits, kindsBeginning, RawKeys } from "./raw-keys.ts";
import type { Event } from "./event.ts";

/** What is to be found out about events. */
export interface ScanPlan {
  /** Keys that an event must have, and the kind of their values. */
  declared: ReadonlyMap<string, JsonKind>;
  /** Keys that it may have, with a value of that kind or null. */
  optional?: ReadonlyMap<string, JsonKind>;
  /** Keys whose values will be read. */
  noted: readonly string[];
  /** The walks for the mapped keys, where the bytes of events may be rows as they are. */
  rows: RowWalks | undefined;
}

const [quote, comma, lineBreak, openObject, closeObject, letterN] = Buffer.from('",\n{}n');

/** Longer events are not scanned: ClickHouse refuses JSON rows beyond a limit of its own. */
const longestEvent = 1 << 20;

/**
 * At most so much of a row may be keys that are not mapped, with their values. ClickHouse has to receive them and to
 * read over them, which soon costs more than encoding the others.
 */
const othersShare = 1 / 3;

/**
 * Finds in one walk over the bytes of an event what a parse and checks of its values would find.
 *
 * It passes objects on one line, without spaces except one after a comma or a colon, that have none of the keys of its
 * plan twice. Where that is not certain the result is false, and the event has to be parsed.
 */
export class RawScan {
  /** Whether the last event that passed has each declared key, with a value of its kind. */
  hasDeclared = false;
  /** Whether its bytes are a row as they are. */
  isRow = false;
  readonly #keys: RawKeys;
  readonly #declared: number;
  readonly #hasRows: boolean;
  readonly #needed: number;
  /** It looks for rows alone. */
  readonly #isForRows: boolean;
  /** Counts the events, and wraps around. */
  #event = 0;
  #bytes: Buffer | undefined;
  #view: DataView = new DataView(new ArrayBuffer(0));
  #spare = Buffer.alloc(0);

  constructor({ declared, optional = new Map(), noted, rows }: ScanPlan) {
    this.#declared = declared.size;
    this.#hasRows = rows !== undefined;
    this.#isForRows = declared.size + optional.size + noted.length === 0;
    const names = new Set([...declared.keys(), ...optional.keys(), ...noted, ...(rows?.walks.keys() ?? [])]);
    const checked = [...names].map((name): [string, KeyChecks] => {
      const [kind, ofOptional] = [declared.get(name), optional.get(name)];
      const kinds = ofOptional === undefined ? anyKind : kindBits[ofOptional] | kindBits.null;
      return [
        name,
        {
          kinds: kind === undefined ? kinds : kindBits[kind],
          declared: kind === undefined ? 0 : 1,
          walk: rows?.walks.get(name),
          needed: rows?.walks.has(name) === true && !rows.optional.has(name) ? 1 : 0,
          isNullable: rows?.nullable.has(name) ?? false,
          note: noted.indexOf(name),
        },
      ];
    });
    this.#needed = checked.filter(([, { needed }]) => needed === 1).length;
    this.#keys = new RawKeys(new Map(checked));
  }

  /**
   * Scans the event that lies in `bytes` from `start` to `end`, and notes its fields as event number `place` of
   * `notes`. The byte after it, within `bytes`, is changed meanwhile.
   */
  look(bytes: Buffer, start: number, end: number, notes?: FieldNotes, place = 0): boolean {
    if (end - start > longestEvent) return false;
    // A line break has to follow it, which ends each walk.
    if (end + padding >= bytes.length) return this.#lookAtCopy(bytes, start, end, notes, place);
    if (bytes !== this.#bytes) this.#turnTo(bytes);
    const overwritten = bytes[end] as number;
    bytes[end] = lineBreak as number;
    try {
      return this.#walk(this.#view, start, end, notes, place);
    } finally {
      bytes[end] = overwritten;
    }
  }

  #lookAtCopy(bytes: Buffer, start: number, end: number, notes: FieldNotes | undefined, place: number): boolean {
    const length = end - start;
    if (length + padding >= this.#spare.length) this.#spare = Buffer.alloc(2 * (length + padding));
    bytes.copy(this.#spare, 0, start, end);
    return this.look(this.#spare, 0, length, notes, place);
  }

  #turnTo(bytes: Buffer): void {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  #walk(bytes: DataView, start: number, end: number, notes: FieldNotes | undefined, place: number): boolean {
    if (bytes.getUint8(start) !== openObject) return false;
    this.#event = (this.#event + 1) | 0;
    let key = this.#keys.start;
    let isRow = this.#hasRows;
    let declared = 0;
    let needed = 0;
    let others = (end - start) * othersShare;
    for (let at = start + 1; ;) {
      const found = this.#keys.at(bytes, at, key);
      if (found === undefined || (found.isGiven && found.seen === this.#event)) return false;
      key = found;
      key.seen = this.#event;
      const value = gapEnd(bytes, at + key.length);
      let stop = key.isText ? textEnd(bytes, value) : key.walk === undefined ? 0 : key.walk(bytes, value);
      if (stop === 0) {
        if (key.walk !== undefined) isRow &&= key.isNullable && bytes.getUint8(value) === letterN;
        stop = (kindsBeginning[bytes.getUint8(value)]! & key.kinds) === 0 ? 0 : valueEnd(bytes, value);
        if (stop === 0 || (this.#isForRows && !isRow)) return false;
      }
      declared += key.declared;
      needed += key.needed;
      if (key.walk === undefined) others -= stop - at;
      if (key.isConfusing) isRow = false;
      if (key.note !== -1 && notes !== undefined) noteField(notes, place, key.note, bytes, start, value, stop);
      if (bytes.getUint8(stop) !== comma) {
        this.hasDeclared = declared === this.#declared;
        this.isRow = isRow && needed === this.#needed && others >= 0;
        const isWhole = bytes.getUint8(stop) === closeObject && stop + 1 === end;
        return isWhole && (this.isRow || !this.#isForRows);
      }
      at = gapEnd(bytes, stop + 1);
    }
  }
}

function noteField(
  notes: FieldNotes,
  place: number,
  note: number,
  bytes: DataView,
  start: number,
  value: number,
  stop: number,
): void {
  const at = notes.at(place, note);
  const isSpelledOut = bytes.getUint8(value) !== quote || isPlainText(bytes, value, stop);
  notes.places[at] = isSpelledOut ? value - start : start - value;
  notes.places[at + 1] = stop - start;
}

/** After this many events in a row that the walk did not pass, it tries only one in as many. */
const patience = 100;

/** Walks over the bytes of events, rarely where most do not pass, and notes on each event what it found. */
export class EventScan {
  readonly #rows: RowWalks | undefined;
  readonly #scan: RawScan;
  #misses = 0;

  constructor(plan: ScanPlan) {
    this.#rows = plan.rows;
    this.#scan = new RawScan(plan);
  }

  /** Whether the last event that passed has each declared key, with a value of its kind. */
  get hasDeclared(): boolean {
    return this.#scan.hasDeclared;
  }

  /** Whether the walk passes an event. If so, the event has its fields as number `place` of `notes`. */
  passes(event: Event, notes?: FieldNotes, place = 0): boolean {
    const isTried = this.#misses < patience || this.#misses % patience === 0;
    const { within, start, end } = event;
    const passes = isTried && within !== undefined && this.#scan.look(within, start, end, notes, place);
    this.#misses = passes ? 0 : this.#misses + 1;
    if (passes && this.#rows !== undefined) event.judge(this.#rows, this.#scan.isRow);
    if (passes && notes !== undefined) event.note(notes, place);
    return passes;
  }
}
