import { editsBetween } from "../../schemas/edits-between.ts";

/** Words that are looked at; in longer lists what was meant may be missed. */
const most = 1000;

/** The known word that was probably meant: at most a third of its letters away; undefined if none is near. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  if (word.length > 64) return undefined;
  let best: { word: string; edits: number } | undefined;
  let seen = 0;
  for (const candidate of known) {
    seen += 1;
    if (seen > most) break;
    if (Math.abs(candidate.length - word.length) > Math.max(1, candidate.length / 3)) continue;
    const edits = editsBetween(word.toLowerCase(), candidate.toLowerCase());
    if (edits <= Math.max(1, Math.floor(candidate.length / 3)) && edits < (best?.edits ?? Infinity)) {
      best = { word: candidate, edits };
    }
  }
  return best?.word;
}

/** `did you mean "…"?`, if something is near. */
export function didYouMean(word: unknown, known: Iterable<string>): string | undefined {
  const near = typeof word === "string" ? nearest(word.trim(), known) : undefined;
  return near === undefined ? undefined : `did you mean "${near}"?`;
}
