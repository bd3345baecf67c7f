/** The name of the folder of a finished part: partition, first block, last block, level, and mutation. */
const form = /^([^_]+)_(-?\d+)_(\d+)_\d+(?:_\d+)?$/;

interface Part {
  partition: string;
  first: number;
  last: number;
}

/** A first block of parts, and how far the parts reach that begin there or earlier. */
interface BlockRange {
  first: number;
  /** The greatest last block of these parts. */
  last: number;
}

/** The finished parts of one table, by the names of their folders. */
export class Parts {
  /** By partition, by first block. */
  readonly #ranges = new Map<string, BlockRange[]>();

  /** @param names of all folders of the table; those that are not finished parts (`tmp_…`, `detached`) are ignored. */
  constructor(names: readonly string[]) {
    const parts = names.flatMap((name) => parse(name) ?? []).toSorted((a, b) => a.first - b.first);
    for (const { partition, first, last } of parts) {
      const ranges = this.#ranges.get(partition) ?? [];
      ranges.push({ first, last: Math.max(last, ranges.at(-1)?.last ?? last) });
      this.#ranges.set(partition, ranges);
    }
  }

  /**
   * Whether the rows of a part exist: in the part itself, or in one that it was merged or mutated into, whose blocks
   * enclose its own. True for a name that is not of a part: it says nothing about rows.
   */
  hold(name: string): boolean {
    const part = parse(name);
    if (part === undefined) return true;
    const ranges = this.#ranges.get(part.partition) ?? [];
    const range = ranges[firstAfter(ranges, part.first) - 1];
    return range !== undefined && range.last >= part.last;
  }
}

/** The index of the first range that begins after `block`. */
function firstAfter(ranges: readonly BlockRange[], block: number): number {
  let [low, high] = [0, ranges.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ranges[middle]?.first ?? 0) <= block) low = middle + 1;
    else high = middle;
  }
  return low;
}

function parse(name: string): Part | undefined {
  const [, partition, first, last] = form.exec(name) ?? [];
  return partition === undefined ? undefined : { partition, first: Number(first), last: Number(last) };
}
