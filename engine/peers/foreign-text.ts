/**
 * A text of a peer as one line in which control characters are visible: it must not look like a line of Sluice, and not
 * steer a terminal. The caller bounds it.
 */
export function oneLine(text: string): string {
  return text
    .replaceAll(/\s+/g, " ")
    .trim()
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu, escaped);
}

/** One line of at most `longest` characters; the end is kept, since an error names its place there. */
export function clippedTo(text: string, longest: number): string {
  const line = oneLine(text);
  return line.length <= longest ? line : `${line.slice(0, longest / 2)} … ${line.slice(-longest / 2)}`;
}

function escaped(character: string): string {
  return `\\u${character.codePointAt(0)!.toString(16).padStart(4, "0")}`;
}
