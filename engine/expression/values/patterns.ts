import { RE2JS } from "re2js";
import type { Fail } from "./arithmetic.ts";
import type { Budget } from "./budget.ts";

/** Compiled patterns that are kept; the one used longest ago goes first. Each may hold some megabytes of states. */
const MOST_PATTERNS = 64;
/** UTF-16 units of a pattern. */
export const LONGEST_PATTERN = 10_000;
/** Instructions of a compiled pattern that are as quick as none. */
const LIGHT = 64;

/** A pattern in the dialect of RE2: its matching takes time in proportion to the text, whatever the two are. */
export interface Pattern {
  readonly program: RE2JS;
  /** About how many instructions it has: repetitions such as `{1,300}` are written out when it is compiled. */
  readonly size: number;
}

const compiled = new Map<string, Pattern>();

/** The compiled pattern. Compiling takes steps of the budget where the pattern is not known yet. */
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
