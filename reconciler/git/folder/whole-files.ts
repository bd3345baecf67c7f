import type { ChangingFiles, RevisionFile } from "../revision.ts";

/** A file of a folder as one reading found it. */
export interface ReadFile {
  path: string;
  /** A text that changes whenever the file does. */
  look: string;
  /** Absent where the file changed while it was read. */
  bytes: Buffer | undefined;
  /** Milliseconds since it was changed, by the clock of the machine, which may be wrong. */
  age: number;
}

interface Known {
  look: string;
  bytes: Buffer | undefined;
  /** When it was first seen like this, by the monotonic clock. */
  since: number;
  /** What counts of it; absent where it is new. */
  followed: Buffer | undefined;
  /** When it began to differ from what counts. Absent where it does not. */
  differsSince: number | undefined;
}

/**
 * What counts of each file: what it held when it was last read twice the same, with a wait in between. A file that has
 * just changed may be half of what is written, and half of a YAML file may be valid.
 */
export class WholeFiles {
  readonly #wait: number;
  readonly #longest: number;
  readonly #now: () => number;
  #known: ReadonlyMap<string, Known> | undefined;

  /**
   * `wait`: milliseconds that a file has to stand still; 0 where each counts as it is. `longest`: milliseconds after
   * which nobody waits for a file that changes all the time. `now`: a monotonic clock, in milliseconds.
   */
  constructor(wait: number, longest: number, now: () => number) {
    this.#wait = wait;
    this.#longest = longest;
    this.#now = now;
  }

  /** Takes a reading that began at `began` and has just ended. */
  seen(found: readonly ReadFile[], began: number): { files: RevisionFile[]; changing?: ChangingFiles } {
    const now = this.#now();
    const known = new Map(found.map((file) => [file.path, this.#next(file, began, now)]));
    this.#known = known;
    const files = [...known].flatMap(([path, { followed: bytes }]) => (bytes === undefined ? [] : [{ path, bytes }]));
    const changing = [...known].filter(([, { differsSince }]) => differsSince !== undefined);
    if (changing.length === 0) return { files };
    const at = Math.min(...changing.map(([, { since }]) => since + this.#wait));
    const isBrief = changing.some(([, { differsSince = now }]) => now - differsSince < this.#longest);
    return { files, changing: { paths: changing.map(([path]) => path), after: this.#wait, at, isBrief } };
  }

  #next(file: ReadFile, began: number, now: number): Known {
    const { look, bytes } = file;
    const before = this.#known?.get(file.path);
    const isSame = bytes !== undefined && before?.look === look && before.bytes?.equals(bytes) === true;
    const since = isSame ? before.since : now;
    const isOld = this.#known === undefined && file.age >= this.#wait;
    const followed = before?.followed;
    if (bytes !== undefined && followed?.equals(bytes) === true)
      return { look, bytes: followed, since, followed, differsSince: undefined };
    if (bytes !== undefined && (this.#wait === 0 || isOld || (isSame && began >= since + this.#wait)))
      return { look, bytes, since, followed: bytes, differsSince: undefined };
    return { look, bytes, since, followed, differsSince: before?.differsSince ?? now };
  }
}
