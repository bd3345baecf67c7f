import { isObject } from "../../schemas/index.ts";
import { assign, matches } from "./match.ts";
import type { Found, Letter } from "./outcome.ts";
import type { NamedTest } from "./read-tests.ts";

/** The lists of an expectation, in the order of reports. */
export const sections = ["rows", "dead_letters", "refused", "filtered", "deduplicated"] as const;
export type Section = (typeof sections)[number];

/**
 * A difference between what a test expects and what was found. `at` is the index of the expected entry. One that is
 * `different` stands beside the found entry that is most like it.
 */
export type Mismatch =
  | { section: Section; kind: "count"; expected: number; found: number }
  | { section: Section; kind: "missing"; at: number; expected: unknown }
  | { section: Section; kind: "unexpected"; found: unknown }
  | { section: Section; kind: "different"; at: number; expected: unknown; found: unknown };

/** Every difference; none where the test passes. */
export function mismatchesOf(test: NamedTest, found: Found): Mismatch[] {
  return sections.flatMap((section): Mismatch[] => {
    const expected = expectedOf(test, section);
    if (expected === undefined) return [];
    if (Array.isArray(expected)) return differences(section, expected, foundIn(section, test, found));
    const count = countIn(section, found);
    return count === expected ? [] : [{ section, kind: "count", expected: Number(expected), found: count }];
  });
}

/** What a test expects; undefined where that is not compared. */
function expectedOf({ expect = {} }: NamedTest, section: Section): number | readonly unknown[] | undefined {
  const must = section === "dead_letters" || section === "refused";
  return expect[section] ?? (must ? [] : undefined);
}

/** The entries of a section, in the order of the events. */
export function foundIn(section: Section, { events }: Pick<NamedTest, "events">, found: Found): readonly unknown[] {
  const { outcomes, rows } = found;
  if (section === "rows") return rows;
  if (section === "dead_letters") return outcomes.flatMap(({ dead_letters }) => dead_letters.map(withMessage));
  if (section === "refused") return outcomes.flatMap(({ refused }) => refused ?? []);
  return outcomes.flatMap((outcome, index) => {
    const { event, text } = events[index] ?? {};
    return outcome[section] === 0 ? [] : [event ?? parsed(text ?? "")];
  });
}

export function countIn(section: Section, { outcomes }: Found): number {
  if (section !== "filtered" && section !== "deduplicated") return 0;
  return outcomes.reduce((sum, outcome) => sum + outcome[section], 0);
}

/** A dead letter whose message is compared as JSON where it is an object, and as a text otherwise. */
function withMessage(letter: Letter): object {
  return { ...letter, original_message: parsed(letter.original_message) };
}

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : text;
  } catch {
    return text;
  }
}

function differences(section: Section, expected: readonly unknown[], found: readonly unknown[]): Mismatch[] {
  const { partners, left } = assign(expected, found);
  const free = new Set(left);
  const wrong = [...expected.entries()].filter(([at]) => partners[at] === undefined);
  const ofExpected = wrong.map(([at, entry]): Mismatch => {
    const nearest = nearestOf(
      entry,
      [...free].map((index): [number, unknown] => [index, found[index]]),
    );
    if (nearest === undefined) return { section, kind: "missing", at, expected: entry };
    free.delete(nearest);
    return { section, kind: "different", at, expected: entry, found: found[nearest] };
  });
  const others = [...free].map((index): Mismatch => ({ section, kind: "unexpected", found: found[index] }));
  return [...ofExpected, ...others];
}

/** The index of the entry with the most members as expected; undefined where none has one. */
function nearestOf(expected: unknown, entries: readonly [number, unknown][]): number | undefined {
  let best: { index: number; alike: number } | undefined;
  for (const [index, found] of entries) {
    const alike = alikeIn(expected, found);
    if (alike > (best?.alike ?? 0)) best = { index, alike };
  }
  return best?.index;
}

function alikeIn(expected: unknown, found: unknown): number {
  if (!isObject(expected) || !isObject(found)) return 0;
  return Object.keys(expected).filter((key) => Object.hasOwn(found, key) && matches(expected[key], found[key])).length;
}

/** The part of a found entry that an expected one names; the whole of it where it is no mapping. */
export function named(expected: unknown, found: unknown): unknown {
  if (!isObject(expected) || !isObject(found)) return found;
  return Object.fromEntries(Object.keys(expected).map((key) => [key, Object.hasOwn(found, key) ? found[key] : null]));
}
