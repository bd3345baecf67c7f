import { RE2JS } from "re2js";
import type { Fail } from "./arithmetic.ts";
import type { Budget } from "./budget.ts";

/**
 * The most compiled patterns that are kept; the least recently used is dropped first. Each may hold some megabytes of
 * states.
 */
const MOST_PATTERNS = 64;
/** The longest pattern, in UTF-16 units. */
export const LONGEST_PATTERN = 10_000;
/** Patterns of up to this many instructions cost no extra steps. */
const LIGHT = 64;

/** A pattern in RE2 syntax: matching takes time linear in the length of the text. */
export interface Pattern {
  readonly program: RE2JS;
  /** Its approximate number of instructions: repetitions such as `{1,300}` are expanded when it is compiled. */
  readonly size: number;
}

const compiled = new Map<string, Pattern>();

/** The compiled pattern. Compiling a new pattern takes steps of the budget. */
export function pattern(source: string, fail: Fail, budget?: Budget): Pattern {
  const known = compiled.get(source);
  if (known !== undefined) compiled.delete(source);
  const found = known ?? make(source, fail, budget);
  if (compiled.size >= MOST_PATTERNS) compiled.delete(compiled.keys().next().value ?? "");
  compiled.set(source, found);
  return found;
}

function make(source: string, fail: Fail, budget: Budget | undefined): Pattern {
  if (source.length > LONGEST_PATTERN) {
    return fail(`the pattern is too long: expected at most ${LONGEST_PATTERN} characters, found ${source.length}`);
  }
  const counts = Array.from(source.matchAll(/\{\d*,?(\d+)/g), ([, count]) => Number(count));
  const size = source.length * Math.max(1, ...counts);
  budget?.step(size);
  try {
    return { program: RE2JS.compile(source), size };
  } catch (error) {
    return fail(`this is not a pattern of RE2: ${error instanceof Error ? error.message : "unknown reason"}`);
  }
}

/** Whether the pattern is found anywhere in the text. */
export function isFound({ program, size }: Pattern, text: string, budget: Budget): boolean {
  budget.read(text.length * Math.ceil(size / LIGHT));
  return program.test(text);
}
