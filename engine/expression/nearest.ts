/** `; did you mean "level"?` where one of the names is close enough to be meant, otherwise nothing. */
export function nearest(name: string, names: readonly string[]): string {
  const most = Math.max(1, Math.floor(name.length / 3));
  const ranked = names
    .filter((candidate) => Math.abs(candidate.length - name.length) <= most)
    .map((candidate) => ({ candidate, distance: distance(name.toLowerCase(), candidate.toLowerCase()) }))
    .filter((found) => found.distance <= most)
    .toSorted((a, b) => a.distance - b.distance);
  return ranked[0] === undefined ? "" : `; did you mean ${ranked[0].candidate}?`;
}

/** How many letters to insert, remove or replace. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const above = row;
    row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (above[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, (above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
  }
  return row[b.length] ?? 0;
}
