/**
 * Checks before each write whether this pipeline still owns the group, where that is in doubt: the process or its machine
 * was frozen, so that the group may have given its partitions to others, or another Sluice was seen in it.
 */
export class OwnerCheck {
  readonly #freezes: FreezeDetector;
  readonly #check: () => Promise<void>;
  readonly #onFrozen: () => void;
  #checking: Promise<void> | undefined;
  /** Doubts that are no freezes. */
  #others = 0;
  /** Doubts after which the ownership was confirmed. */
  #confirmed = 0;
  /** Freezes that were told. */
  #told = 0;

  /**
   * `sessionTimeout`: milliseconds without a heartbeat after which the group removes a member. `check` resolves when
   * the ownership is confirmed; `onFrozen` is called before it.
   */
  constructor(sessionTimeout: number, check: () => Promise<void>, onFrozen: () => void) {
    // The last heartbeat was some time before the freeze, and the clocks are read at intervals.
    this.#freezes = new FreezeDetector(sessionTimeout / 2);
    this.#check = check;
    this.#onFrozen = onFrozen;
  }

  begin(): void {
    this.#freezes.begin();
  }

  end(): void {
    this.#freezes.end();
  }

  /** Another Sluice was seen in the group: the next write needs a check. */
  doubt(): void {
    this.#others += 1;
  }

  /**
   * Resolves when a write is allowed: at once, unless there was a freeze or a doubt; then not before `check` has confirmed
   * the ownership, whoever asks meanwhile. Rejects as `check` does, and then the next write needs a check as well.
   */
  passed(): Promise<void> {
    if (this.#doubts === this.#confirmed) return Promise.resolve();
    return (this.#checking ??= this.#ask().finally(() => (this.#checking = undefined)));
  }

  get #doubts(): number {
    return this.#freezes.count + this.#others;
  }

  async #ask(): Promise<void> {
    // An answer says nothing of a doubt that came after the question.
    for (let asked = this.#doubts; asked !== this.#confirmed; asked = this.#doubts) {
      this.#tell();
      await this.#check();
      this.#confirmed = asked;
    }
  }

  /** Once for each check that freezes ask for, however often it is tried. */
  #tell(): void {
    const freezes = this.#freezes.count;
    if (freezes !== this.#told) this.#onFrozen();
    this.#told = freezes;
  }
}

/**
 * Detects that this process, or its machine, was frozen for so long that the group may have removed its members. A
 * stopped process shows in both clocks, and so does a busy thread, which sends no heartbeats either; a frozen machine
 * may show in the wall clock alone. A step of the wall clock looks the same, and costs one more check of the group.
 */
export class FreezeDetector {
  readonly #most: number;
  #monotonic = performance.now();
  #wall = Date.now();
  #count = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `most`: a freeze up to this long is ignored, in milliseconds. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Begins to read the clocks, often enough that normal time does not look like a freeze. */
  begin(): void {
    [this.#monotonic, this.#wall] = [performance.now(), Date.now()];
    this.#timer ??= setInterval(() => this.count, this.#most / 4).unref();
  }

  /** How often it was frozen. Costs two reads of clocks. */
  get count(): number {
    const [monotonic, wall] = [performance.now(), Date.now()];
    const gap = Math.max(monotonic - this.#monotonic, Math.abs(wall - this.#wall));
    [this.#monotonic, this.#wall] = [monotonic, wall];
    if (this.#timer !== undefined && gap > this.#most) this.#count += 1;
    return this.#count;
  }

  end(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
