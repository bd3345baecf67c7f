/**
 * Searches in texts whose time grows with the lengths, and not with their product, whatever the texts are. JavaScript's
 * own search may compare each place of the text with the whole part; it is used where that is little.
 */

/** The longest part, and the largest product of both lengths, for which it is. */
const [shortPart, fewSteps] = [32, 1_000_000];

/** Whether JavaScript's own search takes little time at the worst. */
export function isQuickSearch(text: string, part: string): boolean {
  return part.length <= shortPart || text.length * part.length <= fewSteps;
}

/** Where `part` is first, from `from` on; -1 where it is not. */
export function indexIn(text: string, part: string, from = 0): number {
  if (isQuickSearch(text, part)) return text.indexOf(part, from);
  const found = search(
    part.length,
    text.length - from,
    (place) => part.charCodeAt(place),
    (place) => text.charCodeAt(from + place),
  );
  return found === -1 ? -1 : from + found;
}

/** Where `part` is last; -1 where it is not. */
export function lastIndexIn(text: string, part: string): number {
  if (isQuickSearch(text, part)) return text.lastIndexOf(part);
  const [lastOfPart, lastOfText] = [part.length - 1, text.length - 1];
  const found = search(
    part.length,
    text.length,
    (place) => part.charCodeAt(lastOfPart - place),
    (place) => text.charCodeAt(lastOfText - place),
  );
  return found === -1 ? -1 : text.length - found - part.length;
}

type Characters = (place: number) => number;

/** The search of Knuth, Morris and Pratt, over the characters that two functions give. */
function search(partLength: number, textLength: number, part: Characters, text: Characters): number {
  // How much of the part still fits where the next character does not.
  const fallback = new Int32Array(partLength);
  for (let place = 1, fits = 0; place < partLength; place += 1) {
    while (fits > 0 && part(place) !== part(fits)) fits = fallback[fits - 1]!;
    if (part(place) === part(fits)) fits += 1;
    fallback[place] = fits;
  }
  for (let place = 0, fits = 0; place < textLength; place += 1) {
    while (fits > 0 && text(place) !== part(fits)) fits = fallback[fits - 1]!;
    if (text(place) === part(fits)) fits += 1;
    if (fits === partLength) return place - partLength + 1;
  }
  return -1;
}
