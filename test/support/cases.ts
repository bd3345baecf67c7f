/**
 * Whether every case is tested: `npm run faults -- cases`. `npm test` leaves out those that are much like others of their
 * file, where each case costs much.
 */
export const isEveryCase = process.env["CASES"] === "all";

/** How often a property is tried that takes long: as often as is given where every case is tested, else a third as often. */
export function runsOf(all: number): number {
  return isEveryCase ? all : Math.ceil(all / 3);
}
