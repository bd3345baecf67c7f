/**
 * The time that a process has had to work, in milliseconds: on a machine that does other things as well it may stand
 * still for a long time, which is no hang of what it waits for.
 */
export class OwnTime {
  #elapsed = 0;
  #last = performance.now();

  /** Call it every 20 ms or so. A step that took far longer counts as a short one. */
  get elapsed(): number {
    const now = performance.now();
    this.#elapsed += Math.min(now - this.#last, 50);
    this.#last = now;
    return this.#elapsed;
  }
}

/** Rejects after so many milliseconds of its own time. */
export async function within<Result>(milliseconds: number, work: Promise<Result>, why: () => string): Promise<Result> {
  const time = new OwnTime();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setInterval(() => time.elapsed > milliseconds && reject(new Error(why())), 25);
  });
  return Promise.race([work, late]).finally(() => clearInterval(timer));
}
