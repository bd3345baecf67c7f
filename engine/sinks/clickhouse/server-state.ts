/**
 * Codes of a server that lacks something for a while, or that is being started or stopped: the same insert is tried again
 * (the specification, engine semantics, section 7.1, with its additions).
 */
export const transientCodes: ReadonlySet<number> = new Set([
  95, 96, 159, 173, 198, 201, 202, 203, 209, 210, 225, 236, 241, 242, 243, 244, 252, 254, 265, 279, 285, 286, 289, 290,
  297, 319, 364, 369, 384, 394, 411, 416, 425, 439, 473, 499, 500, 574, 667, 677, 695, 696, 700, 722, 734, 735, 738,
  745, 749, 762, 771, 776, 777, 778, 999, 1000,
]);

/** Errors of the system that a server passes on, by their number on Linux. */
const systemErrors: readonly [errno: number, words: string, reason: string][] = [
  [24, "Too many open files", "its process has too many files open: raise its limit of open files (LimitNOFILE)"],
  [23, "Too many open files in system", "its machine has too many files open: raise fs.file-max there"],
  [28, "No space left on device", "a disk of it is full: make room there"],
  [122, "Disk quota exceeded", "a disk of it is full by its quota: make room there, or raise the quota"],
  [12, "Cannot allocate memory", "its machine is out of memory"],
  [11, "Resource temporarily unavailable", "it can start no more threads: raise its limit of processes (LimitNPROC)"],
];

/** Codes that quote an error of the system: files, folders, threads, the standard library. */
const systemCodes: ReadonlySet<number> = new Set([
  74, 75, 76, 77, 87, 88, 172, 173, 204, 214, 239, 240, 272, 273, 294, 298, 299, 301, 363, 400, 411, 424, 425, 439, 458,
  460, 463, 531, 566, 586, 635, 641, 1000, 1001, 1002,
]);

/** What some codes mean, and what a person can do. */
const meanings: ReadonlyMap<number, string> = new Map([
  [173, "it is out of memory"],
  [241, "the insert would take more memory than it allows"],
  [243, "a disk of it is full: make room there"],
  ...[225, 244, 999].map((code): [number, string] => [code, "it has no session with its Keeper: look at Keeper"]),
  [242, "the table is read-only as long as its server has no session with Keeper: look at Keeper"],
  [394, "the statement was cancelled there"],
  [722, "it is being started, and loads its tables"],
]);

/** Why a server cannot carry a statement out now, whatever the statement is: completes "ClickHouse cannot now: ...". */
export function strainOf(code: number, text: string): string | undefined {
  return (systemCodes.has(code) ? systemStrain(text) : undefined) ?? meanings.get(code);
}

function systemStrain(text: string): string | undefined {
  const errno = Number(/\berrno: (\d+)\b/.exec(text)?.[1] ?? NaN);
  const found =
    systemErrors.find(([number]) => number === errno) ?? systemErrors.findLast(([, words]) => text.includes(words));
  return found?.[2];
}
