/**
 * Notices that this process, or its machine, has stood still for so long that its group may have taken it for dead. A
 * stopped process shows in both clocks, a frozen machine maybe in the wall clock alone, and a busy thread, which sends no
 * heartbeats either, in both. A step of the wall clock looks the same, and costs no more than a look at the group.
 */
export class FreezeDetector {
  readonly #most: number;
  #monotonic = performance.now();
  #wall = Date.now();
  #wasAway = false;
  #timer: NodeJS.Timeout | undefined;

  /** `most`: how long it may stand still, in milliseconds. */
  constructor(most: number) {
    this.#most = most;
  }

  /** From now on it is looked at often enough that no time without an absence passes for one. */
  begin(): void {
    [this.#monotonic, this.#wall] = [performance.now(), Date.now()];
    this.#timer ??= setInterval(() => this.wasFrozen, this.#most / 4).unref();
  }

  /** Whether it was away since `over` was said last. Costs two looks at clocks. */
  get wasFrozen(): boolean {
    const [monotonic, wall] = [performance.now(), Date.now()];
    const away = Math.max(monotonic - this.#monotonic, Math.abs(wall - this.#wall));
    [this.#monotonic, this.#wall] = [monotonic, wall];
    this.#wasAway ||= this.#timer !== undefined && away > this.#most;
    return this.#wasAway;
  }

  /** What may have happened meanwhile is known. */
  over(): void {
    this.#wasAway = false;
  }

  end(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
