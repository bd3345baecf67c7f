import { VersionRange } from "./version-range.ts";

/** Chooses one of the tags of a repository. */
export interface TagChoice {
  /** As it was given. */
  text: string;
  /** Undefined where no tag fits. */
  newestOf: (names: readonly string[]) => string | undefined;
}

/** The longest text that is read as a range, and the most `*` of a pattern: each is tried on each tag. */
const longest = 200;
const mostStars = 8;

/** Whether a text is no name of a tag, but asks for one of several. */
export function isTagChoice(text: string): boolean {
  return /[*~^<>|\s]/.test(text);
}

/**
 * Reads a range of versions, such as `v1.*` or `>=1.2 <2`, of which the newest counts; or a pattern, such as `release-*`, of
 * which the last counts, by the order in which numbers count as numbers. Undefined for anything else.
 */
export function readTagChoice(text: string): TagChoice | undefined {
  if (text.length > longest) return undefined;
  const range = VersionRange.read(text);
  if (range !== undefined) return { text, newestOf: (names) => range.newestOf(names) };
  const parts = text.split("*");
  const isPattern = parts.length > 1 && parts.length <= mostStars + 1 && !/[~^:?[\\<>|,\s\p{Cc}]|^[-/.]/u.test(text);
  return isPattern ? { text, newestOf: (names) => lastOf(names.filter((name) => fits(name, parts))) } : undefined;
}

/** Whether a name consists of these parts, with anything in between. */
function fits(name: string, parts: readonly string[]): boolean {
  const [first = "", ...rest] = parts;
  const last = rest.pop() ?? "";
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length) return false;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return at <= name.length - last.length;
}

function lastOf(names: readonly string[]): string | undefined {
  return names.toSorted((a, b) => natural.compare(a, b) || (a < b ? -1 : 1)).at(-1);
}

const natural = new Intl.Collator("en", { numeric: true });
