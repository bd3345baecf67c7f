/** `; did you mean level?` where one of the names is close enough to be meant, otherwise nothing. */
export function nearest(name: string, names: readonly string[]): string {
  const most = Math.max(1, Math.floor(name.length / 3));
  const ranked = names
    .filter((candidate) => Math.abs(candidate.length - name.length) <= most)
    .map((candidate) => ({ candidate, distance: distance(name.toLowerCase(), candidate.toLowerCase()) }))
    .filter((found) => found.distance <= most)
    .toSorted((a, b) => a.distance - b.distance);
  return ranked[0] === undefined ? "" : `; did you mean ${ranked[0].candidate}?`;
}

/** How many letters to insert, remove, replace, or swap with their neighbour. */
function distance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, index) => index)];
  const at = (row: number, column: number): number => rows[row]?.[column] ?? Infinity;
  for (let i = 1; i <= a.length; i += 1) {
    rows.push([i]);
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? at(i - 2, j - 2) + 1 : Infinity;
      rows[i]?.push(Math.min(replaced, swapped, at(i - 1, j) + 1, at(i, j - 1) + 1));
    }
  }
  return at(a.length, b.length);
}
