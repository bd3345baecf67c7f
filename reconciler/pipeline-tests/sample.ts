import type { DeadLetter, SampledEvent } from "../../engine/index.ts";
import { originOf, parseExactly, requestOfRow, writeExactly } from "../../engine/language.ts";
import { type GivenEvent, isObject, type SourceConfig } from "../../schemas/index.ts";

type Signal = Parameters<typeof requestOfRow>[0];
type JsonObject = Readonly<Record<string, unknown>>;

/** Events for a test, and how many of those that were taken have none. */
export interface Sample {
  events: GivenEvent[];
  /** Events whose bytes no file of tests can hold, and with fields to hide those that are no JSON object. */
  leftOut: number;
  /** Fields to hide that no event has. */
  absent: string[];
}

/** An event as its source received it. */
interface TakenEvent extends SampledEvent {
  /** How `text` encodes bytes that are not UTF-8. */
  encoding?: "base64" | undefined;
}

/** The events of dead letters as the source received them. */
export function eventsOf(letters: readonly DeadLetter[]): TakenEvent[] {
  return letters.map(({ source_message, original_message, encoding, origin }) => {
    return { text: source_message ?? original_message, encoding, ...(origin !== undefined && { origin }) };
  });
}

/**
 * Events as a test gives them, without the values of `hidden` fields: in place of each comes a pseudonym, the same one wherever
 * the same value was, so that what deduplicates or joins by it does as before.
 */
export function sampleOf(
  taken: readonly TakenEvent[],
  sources: readonly SourceConfig[],
  hidden: readonly string[],
): Sample {
  const pseudonyms = new Pseudonyms();
  const hide = (event: JsonObject): JsonObject =>
    hidden.reduce((of, field) => withPseudonym(of, field, (value) => pseudonyms.of(value, field)), event);
  const events = taken.flatMap(({ text, encoding, origin }): GivenEvent[] => {
    const source = sourceOf(origin, sources);
    if (source === undefined || encoding !== undefined) return [];
    const given = givenEvent(text, source, hidden.length === 0 ? undefined : hide);
    if (given === undefined) return [];
    return [{ ...(sources.length > 1 && { source: source.source_id }), ...given }];
  });
  const absent = hidden.filter((field) => !pseudonyms.fields.has(field));
  return { events, leftOut: taken.length - events.length, absent };
}

/**
 * Undefined where no test can give the event: a field has to be hidden and the text is no object, or a row of OTLP is
 * none.
 */
function givenEvent(
  text: string,
  source: SourceConfig,
  hide: ((event: JsonObject) => JsonObject) | undefined,
): GivenEvent | undefined {
  const signal = signalOf(source);
  const value = objectIn(text);
  if (value === undefined) return hide === undefined && signal === undefined ? { text } : undefined;
  const shown = hide === undefined ? value : hide(value);
  return asGiven(signal === undefined ? shown : requestOfRow(signal, shown));
}

/** A file of tests holds every number that JSON.parse keeps; others are kept by their digits. */
function asGiven(value: unknown): GivenEvent {
  const spelled = writeExactly(value);
  const plain: unknown = JSON.parse(spelled);
  return isObject(plain) && writeExactly(plain) === spelled ? { event: plain } : { text: spelled };
}

function objectIn(text: string): JsonObject | undefined {
  try {
    const value = parseExactly(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The name as one key, and its parts as keys within each other, as pipelines read it: whichever are there. */
function withPseudonym(event: JsonObject, field: string, hide: (value: unknown) => unknown): JsonObject {
  const dots = [...field.matchAll(/\./g)].map(({ index }) => index);
  const whole = Object.hasOwn(event, field) ? { ...event, [field]: hide(event[field]) } : event;
  return dots.reduce((of, dot) => {
    const [key, rest] = [field.slice(0, dot), field.slice(dot + 1)];
    const held = Object.hasOwn(of, key) ? of[key] : undefined;
    return held === undefined ? of : { ...of, [key]: within(held, rest, hide) };
  }, whole);
}

/** Objects in a list are hidden too, although no pipeline reads them by their names. */
function within(held: unknown, field: string, hide: (value: unknown) => unknown): unknown {
  if (Array.isArray(held)) return held.map((one: unknown) => within(one, field, hide));
  return isObject(held) ? withPseudonym(held, field, hide) : held;
}

/** What stands in place of values: numbered as they come, so that nothing of a value can be guessed from it. */
class Pseudonyms {
  readonly #numbers = new Map<string, number>();
  #firstBoolean: boolean | undefined;
  /** Those of which an event had a value. */
  readonly fields = new Set<string>();

  /** A value of the same kind, so that what is wrong with the kind of a value stays wrong. */
  of(value: unknown, field: string): unknown {
    this.fields.add(field);
    if (typeof value === "string") return numeric.test(value) ? String(this.#number(value)) : this.#text(value);
    if (typeof value === "number" || typeof value === "bigint") return this.#number(String(value));
    if (typeof value === "boolean") return value !== (this.#firstBoolean ??= value);
    if (Array.isArray(value)) return [];
    return isObject(value) ? {} : null;
  }

  #text(value: string): string {
    // Empty keys and columns are what they are by that.
    return value === "" ? "" : `redacted-${this.#number(value)}`;
  }

  /** A number and its digits are the same value for a join. */
  #number(value: string): number {
    const number = this.#numbers.get(value) ?? this.#numbers.size + 1;
    this.#numbers.set(value, number);
    return number;
  }
}

const numeric = /^-?\d+(?:\.\d+)?$/;

function signalOf({ type }: SourceConfig): Signal | undefined {
  switch (type) {
    case "otlp.logs":
      return "logs";
    case "otlp.traces":
      return "traces";
    case "otlp.metrics":
      return "metrics";
    default:
      return undefined;
  }
}

/** The source that an event came from. One whose topic was another before an edit is the first. */
function sourceOf(origin: string | undefined, sources: readonly SourceConfig[]): SourceConfig | undefined {
  return sources.find((source) => origin !== undefined && originOf(source) === origin) ?? sources[0];
}
