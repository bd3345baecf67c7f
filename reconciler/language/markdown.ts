/** Characters that a comment on a pull request may have: GitHub takes one more, other hosts more, or cut it themselves. */
export const longestComment = 65_535;

/** A row of backticks that does not occur in the text, to enclose it; at least so many. */
export function fenceOf(text: string, least: number): string {
  const runs = Array.from(text.matchAll(/`+/g), ([run]) => run.length + 1);
  return "`".repeat(Math.max(least, ...runs));
}
