import { editsBetween } from "../../../schemas/edits-between.ts";

/** `; did you mean level?` if one of the names is close enough, otherwise the empty text. */
export function nearest(name: string, names: readonly string[]): string {
  const most = Math.max(1, Math.floor(name.length / 3));
  const ranked = names
    .filter((candidate) => Math.abs(candidate.length - name.length) <= most)
    .map((candidate) => ({ candidate, distance: editsBetween(name.toLowerCase(), candidate.toLowerCase()) }))
    .filter((found) => found.distance <= most)
    .toSorted((a, b) => a.distance - b.distance);
  return ranked[0] === undefined ? "" : `; did you mean ${ranked[0].candidate}?`;
}
