/**
 * Before something is written, asks whether the group is still this pipeline's, where the process or its machine was
 * frozen meanwhile: the group may have given its partitions to others.
 */
export class OwnerCheck {
  readonly #freezes: FreezeDetector;
  readonly #check: () => Promise<void>;
  readonly #onFrozen: () => void;
  #checking: Promise<void> | undefined;

  /**
   * `sessionTimeout`: after how many milliseconds without a heartbeat the group takes a member for dead. `check` resolves
   * when the group is known to be ours, `onFrozen` is called before it.
   */
  constructor(sessionTimeout: number, check: () => Promise<void>, onFrozen: () => void) {
    // The last heartbeat was some time before the freeze, and the clocks are read some time apart.
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

  /** Resolves when nothing speaks against a write: at once, unless there was a freeze. Rejects as `check` does. */
  passed(): Promise<void> {
    if (!this.#freezes.wasFrozen) return Promise.resolve();
    return (this.#checking ??= this.#ask().finally(() => (this.#checking = undefined)));
  }

  async #ask(): Promise<void> {
    this.#onFrozen();
    while (this.#freezes.wasFrozen) {
      this.#freezes.reset();
      await this.#check();
    }
  }
}

/**
 * Notices that this process, or its machine, was frozen for so long that its group may have taken it for dead. A stopped
 * process shows in both clocks, a frozen machine maybe in the wall clock alone, and a busy thread, which sends no
 * heartbeats either, in both. A step of the wall clock looks the same, and costs no more than a question to the group.
 */
export class FreezeDetector {
  readonly #most: number;
  #monotonic = performance.now();
  #wall = Date.now();
  #wasFrozen = false;
  #timer: NodeJS.Timeout | undefined;

  /** `most`: how long it may be frozen unnoticed, in milliseconds. */
  constructor(most: number) {
    this.#most = most;
  }

  /** From now on the clocks are read often enough that time without a freeze is not taken for one. */
  begin(): void {
    [this.#monotonic, this.#wall] = [performance.now(), Date.now()];
    this.#timer ??= setInterval(() => this.wasFrozen, this.#most / 4).unref();
  }

  /** Whether it was frozen since the last `reset`. Costs two reads of clocks. */
  get wasFrozen(): boolean {
    const [monotonic, wall] = [performance.now(), Date.now()];
    const gap = Math.max(monotonic - this.#monotonic, Math.abs(wall - this.#wall));
    [this.#monotonic, this.#wall] = [monotonic, wall];
    this.#wasFrozen ||= this.#timer !== undefined && gap > this.#most;
    return this.#wasFrozen;
  }

  /** What may have happened meanwhile is known. */
  reset(): void {
    this.#wasFrozen = false;
  }

  end(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
