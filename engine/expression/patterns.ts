import { RE2JS } from "re2js";
import type { Fail } from "./arithmetic.ts";

/** Patterns that are made at run time are kept, the one used longest ago goes first. */
const MOST_PATTERNS = 256;
/** UTF-16 units of a pattern. */
const LONGEST_PATTERN = 10_000;

const compiled = new Map<string, RE2JS>();

/** The compiled pattern, in the dialect of RE2: its matching takes time in proportion to the text. */
export function pattern(source: string, fail: Fail): RE2JS {
  const known = compiled.get(source);
  if (known !== undefined) {
    compiled.delete(source);
    compiled.set(source, known);
    return known;
  }
  const made = make(source, fail);
  if (compiled.size >= MOST_PATTERNS) compiled.delete(compiled.keys().next().value ?? "");
  compiled.set(source, made);
  return made;
}

function make(source: string, fail: Fail): RE2JS {
  if (source.length > LONGEST_PATTERN) {
    return fail(`the pattern is too long: expected at most ${LONGEST_PATTERN} characters, found ${source.length}`);
  }
  try {
    return RE2JS.compile(source);
  } catch (error) {
    return fail(`this is not a pattern of RE2: ${error instanceof Error ? error.message : "unknown reason"}`);
  }
}

/** Whether the pattern is found anywhere in the text. */
export function searchable(text: string, found: RE2JS): boolean {
  return found.test(text);
}
