import type { DeadLetter } from "../../engine/index.ts";
import { parseExactly, writeExactly } from "../../engine/language.ts";
import { type GivenEvent, isObject, type SourceConfig } from "../../schemas/index.ts";

/** Events for a test, and how many letters have none. */
export interface Sample {
  events: GivenEvent[];
  /** Letters whose bytes no file of tests can hold, and with fields to hide those that are no JSON object. */
  leftOut: number;
}

/** The events of dead letters as the source received them, without the values of `hidden` fields. */
export function sampleOf(
  letters: readonly DeadLetter[],
  sources: readonly SourceConfig[],
  hidden: readonly string[],
): Sample {
  const events = letters.flatMap((letter): GivenEvent[] => {
    const text = letter.source_message ?? letter.original_message;
    const given = letter.encoding === undefined ? givenEvent(text, hidden) : undefined;
    if (given === undefined) return [];
    return [{ ...(sources.length > 1 && { source: sourceOf(letter, sources) }), ...given }];
  });
  return { events, leftOut: letters.length - events.length };
}

/** Undefined where a field has to be hidden and the text is no object. */
function givenEvent(text: string, hidden: readonly string[]): GivenEvent | undefined {
  const value = objectIn(text);
  if (value === undefined) return hidden.length === 0 ? { text } : undefined;
  const shown = hidden.reduce(withoutField, value);
  const spelled = writeExactly(shown);
  // A file of tests holds every number that JSON.parse keeps; others are kept by their digits.
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

/** The id of the source that a letter came from. */
function sourceOf({ origin }: DeadLetter, sources: readonly SourceConfig[]): string {
  const found = sources.find((source) => source.type === "kafka" && source.topic === origin);
  return found?.source_id ?? sources[0]?.source_id ?? "";
}
