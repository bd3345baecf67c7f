/**
 * Whether every case is tested: `npm run faults -- cases`. `npm test` leaves out those that are much like others of their
 * file, where each case costs much.
 */
export const isEveryCase = process.env["CASES"] === "all";

/** How often a property is tried that takes long: as often as is given where every case is tested, else a third as often. */
export function runsOf(all: number): number {
  return isEveryCase ? all : Math.ceil(all / 3);
}

/** The items that bring something, by `thingsOf`, which none before them brings. */
export function differing<Item>(items: readonly Item[], thingsOf: (item: Item) => readonly string[]): Item[] {
  const seen = new Set<string>();
  return items.filter((item) => {
    const before = seen.size;
    for (const thing of thingsOf(item)) seen.add(thing);
    return seen.size > before;
  });
}
