/** How the folder of a finished part is called: partition, first block, last block, level, and the mutation it has seen. */
const form = /^([^_]+)_(-?\d+)_(\d+)_\d+(?:_\d+)?$/;

interface Part {
  partition: string;
  first: number;
  last: number;
}

/** Blocks that lie in one part, from `first` up to `last` or less. */
interface Reach {
  first: number;
  /** The furthest last block of all parts that begin here or earlier. */
  last: number;
}

/** The finished parts of one table, as the names of its folders tell them. */
export class Parts {
  /** By partition, by first block. */
  readonly #reaches = new Map<string, Reach[]>();

  /** @param names of all folders of the table; those that are no finished part (`tmp_…`, `detached`) do not count. */
  constructor(names: readonly string[]) {
    const parts = names.flatMap((name) => parse(name) ?? []).toSorted((a, b) => a.first - b.first);
    for (const { partition, first, last } of parts) {
      const reaches = this.#reaches.get(partition) ?? [];
      reaches.push({ first, last: Math.max(last, reaches.at(-1)?.last ?? last) });
      this.#reaches.set(partition, reaches);
    }
  }

  /**
   * Whether the rows of a part are there: in itself, or in one that it was merged or mutated into, whose blocks enclose
   * its own. A name that is none of a part is taken to be there: it says nothing about rows.
   */
  hold(name: string): boolean {
    const part = parse(name);
    if (part === undefined) return true;
    const reaches = this.#reaches.get(part.partition) ?? [];
    const reach = reaches[behind(reaches, part.first) - 1];
    return reach !== undefined && reach.last >= part.last;
  }
}

/** The index of the first one that begins behind `block`. */
function behind(reaches: readonly Reach[], block: number): number {
  let [low, high] = [0, reaches.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((reaches[middle]?.first ?? 0) <= block) low = middle + 1;
    else high = middle;
  }
  return low;
}

function parse(name: string): Part | undefined {
  const [, partition, first, last] = form.exec(name) ?? [];
  return partition === undefined ? undefined : { partition, first: Number(first), last: Number(last) };
}
