import type { DeadLetter, SampledEvent } from "../../engine/index.ts";
import { originOf, parseExactly, requestOfRow, writeExactly } from "../../engine/language.ts";
import { type GivenEvent, isObject, type SourceConfig } from "../../schemas/index.ts";

type Signal = Parameters<typeof requestOfRow>[0];

/** Events for a test, and how many of those that were taken have none. */
export interface Sample {
  events: GivenEvent[];
  /** Events whose bytes no file of tests can hold, and with fields to hide those that are no JSON object. */
  leftOut: number;
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

/** Events as a test gives them, without the values of `hidden` fields. */
export function sampleOf(
  taken: readonly TakenEvent[],
  sources: readonly SourceConfig[],
  hidden: readonly string[],
): Sample {
  const events = taken.flatMap(({ text, encoding, origin }): GivenEvent[] => {
    const source = sourceOf(origin, sources);
    const given = encoding === undefined && source !== undefined ? givenEvent(text, source, hidden) : undefined;
    if (given === undefined) return [];
    return [{ ...(sources.length > 1 && { source: source?.source_id ?? "" }), ...given }];
  });
  return { events, leftOut: taken.length - events.length };
}

/**
 * Undefined where no test can give the event: a field has to be hidden and the text is no object, or a row of OTLP is
 * none.
 */
function givenEvent(text: string, source: SourceConfig, hidden: readonly string[]): GivenEvent | undefined {
  const signal = signalOf(source);
  const value = objectIn(text);
  if (value === undefined) return hidden.length === 0 && signal === undefined ? { text } : undefined;
  const shown = hidden.reduce(withoutField, value);
  return asGiven(signal === undefined ? shown : requestOfRow(signal, shown));
}

/** A file of tests holds every number that JSON.parse keeps; others are kept by their digits. */
function asGiven(value: unknown): GivenEvent {
  const spelled = writeExactly(value);
  const plain: unknown = JSON.parse(spelled);
  return isObject(plain) && writeExactly(plain) === spelled ? { event: plain } : { text: spelled };
}

function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = parseExactly(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The name as one key, and its parts as keys within each other, as pipelines read it: whichever are there. */
function withoutField(event: Readonly<Record<string, unknown>>, field: string): Readonly<Record<string, unknown>> {
  const dots = [...field.matchAll(/\./g)].map(({ index }) => index);
  const whole = Object.hasOwn(event, field) ? { ...event, [field]: inPlaceOf(event[field]) } : event;
  return dots.reduce((of, dot) => {
    const [key, rest] = [field.slice(0, dot), field.slice(dot + 1)];
    const held = Object.hasOwn(of, key) ? of[key] : undefined;
    return isObject(held) ? { ...of, [key]: withoutField(held, rest) } : of;
  }, whole);
}

/** A value of the same kind, so that what is wrong with the kind of a value stays wrong. */
function inPlaceOf(value: unknown): unknown {
  if (typeof value === "string") return "redacted";
  if (typeof value === "number" || typeof value === "bigint") return 0;
  if (typeof value === "boolean") return false;
  if (Array.isArray(value)) return [];
  return isObject(value) ? {} : null;
}

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
