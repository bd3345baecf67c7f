import { RE2JS } from "re2js";
import type { Fail } from "./arithmetic.ts";
import type { Budget } from "./budget.ts";
import { patternSize } from "./pattern-size.ts";

/**
 * The most compiled patterns that are kept, and their size together; the least recently used is dropped first. Each may
 * hold some megabytes of states.
 */
const MOST_PATTERNS = 64;
const LARGEST_KEPT = 200_000;
/** The longest pattern, in UTF-16 units. */
export const LONGEST_PATTERN = 10_000;
/** The largest pattern, in instructions: about the limit of RE2. */
export const LARGEST_PATTERN = 50_000;
/** Patterns of up to this many characters cost no extra steps. */
const LIGHT = 64;
/** Steps of an evaluation in which one instruction is compiled. */
const STEPS_PER_INSTRUCTION = 16;

/** A pattern in RE2 syntax: matching takes time linear in the length of the text. */
export interface Pattern {
  readonly program: RE2JS;
  /** As `patternSize` gives it. */
  readonly size: number;
  /** What a match costs for each character, beside that of a light pattern; with a margin for repetitions. */
  readonly weight: number;
}

const compiled = new Map<string, Pattern>();
let sizeTogether = 0;

/** The compiled pattern. Compiling a new pattern takes steps of the budget. */
export function pattern(source: string, fail: Fail, budget?: Budget): Pattern {
  const found = compiled.get(source) ?? make(source, fail, budget);
  drop(source);
  while (compiled.size > 0 && (compiled.size >= MOST_PATTERNS || sizeTogether + found.size > LARGEST_KEPT)) {
    drop(compiled.keys().next().value ?? "");
  }
  compiled.set(source, found);
  sizeTogether += found.size;
  return found;
}

function drop(source: string): void {
  sizeTogether -= compiled.get(source)?.size ?? 0;
  compiled.delete(source);
}

function make(source: string, fail: Fail, budget: Budget | undefined): Pattern {
  if (source.length > LONGEST_PATTERN) {
    return fail(`the pattern is too long: expected at most ${LONGEST_PATTERN} characters, found ${source.length}`);
  }
  const size = patternSize(source);
  if (size > LARGEST_PATTERN) return fail(tooLarge(size));
  budget?.step(size * STEPS_PER_INSTRUCTION);
  try {
    return { program: RE2JS.compile(source), size, weight: weightOf(source) };
  } catch (error) {
    return fail(`this is not a pattern of RE2: ${error instanceof Error ? error.message : "unknown reason"}`);
  }
}

function weightOf(source: string): number {
  const counts = Array.from(source.matchAll(/\{\d*,?(\d+)/g), ([, count]) => Number(count));
  return Math.ceil((source.length * Math.max(1, ...counts)) / LIGHT);
}

/** What to say of a pattern of that size. */
export function tooLarge(size: number): string {
  return `the pattern is too large: expected at most ${LARGEST_PATTERN} instructions with its repetitions written out, found about ${size}`;
}

/** Whether the pattern is found anywhere in the text. */
export function isFound({ program, weight }: Pattern, text: string, budget: Budget): boolean {
  budget.read(text.length * weight);
  return program.test(text);
}
