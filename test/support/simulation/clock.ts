import { AsyncLocalStorage } from "node:async_hooks";

/**
 * A process or a thread of a simulation, as far as its end goes: what it began, however far from its beginning, ends
 * with it. A process that is killed does not clean up; its timers just never fire.
 */
export class Life {
  readonly #parent: Life | undefined;
  #isOver = false;
  readonly #ends: (() => void)[] = [];

  /** `parent`: it ends with this one too. */
  constructor(parent?: Life) {
    this.#parent = parent;
    parent?.onEnd(() => this.end());
  }

  get isOver(): boolean {
    return this.#isOver || this.#parent?.isOver === true;
  }

  /** Runs something as a part of this life. */
  run<Result>(work: () => Result): Result {
    return lives.run(this, work);
  }

  onEnd(work: () => void): void {
    this.#ends.push(work);
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const work of this.#ends) work();
  }

  /** The life that the code which asks is a part of; undefined for the world itself. */
  static get current(): Life | undefined {
    return lives.getStore();
  }

  /** Runs something as a part of `life`, or of the world itself where there is none; nothing where it is over. */
  static runIn(life: Life | undefined, work: () => void): void {
    if (life?.isOver === true) return;
    (lives as AsyncLocalStorage<Life | undefined>).run(life, work);
  }
}

const lives = new AsyncLocalStorage<Life>();

/**
 * Time as a simulation has it: it stands until everything that can be done now is done, and then goes on to the next
 * timer. The global timers, `Date` and `performance.now` are replaced while a clock is installed, so that the engine and
 * its libraries live in it without knowing. One clock at a time, as there is one set of globals.
 */
export class SimulatedClock {
  /** Milliseconds since the start; never runs backwards. */
  #monotonic = 0;
  /** By how much the wall clock is ahead of it. */
  #ahead: number;
  #timers: Timer[] = [];
  #immediates: (() => void)[] = [];
  #order = 0;
  /** How many callbacks ran: a measure of how much happened. */
  steps = 0;
  /** More callbacks than that are an error: something goes round without rest. */
  mostSteps = Infinity;
  readonly #real = {
    Date: globalThis.Date,
    performanceNow: performance.now.bind(performance),
    setTimeout: globalThis.setTimeout,
    clearTimeout: globalThis.clearTimeout,
    setInterval: globalThis.setInterval,
    clearInterval: globalThis.clearInterval,
    setImmediate: globalThis.setImmediate,
    clearImmediate: globalThis.clearImmediate,
  };

  /** `wall` is when the simulation begins, in milliseconds since the epoch. */
  constructor(wall = Date.UTC(2026, 0, 1)) {
    this.#ahead = wall;
  }

  /** Milliseconds since the epoch, as the wall clock shows them. */
  get wall(): number {
    return Math.floor(this.#monotonic + this.#ahead);
  }

  /** Milliseconds since the start. */
  get monotonic(): number {
    return this.#monotonic;
  }

  /** Sets the wall clock forward, or back by a negative number of milliseconds. */
  step(by: number): void {
    this.#ahead += by;
  }

  /**
   * The whole machine stands still for so many milliseconds, as when it is suspended: timers that were due meanwhile are
   * late. With `monotonicStands` only the wall clock shows it, as in a virtual machine that was frozen.
   */
  freeze(milliseconds: number, { monotonicStands = false } = {}): void {
    if (monotonicStands) this.#ahead += milliseconds;
    else this.#monotonic += milliseconds;
  }

  /** Puts this clock in the place of the real time until `uninstall`. */
  install(): void {
    const clock = this as SimulatedClock;
    const RealDate = this.#real.Date;
    class SimulatedDate extends RealDate {
      constructor(...parts: unknown[]) {
        super(...((parts.length === 0 ? [clock.wall] : parts) as [number]));
      }
      static override now(): number {
        return clock.wall;
      }
    }
    Object.assign(globalThis, {
      Date: SimulatedDate,
      setTimeout: (work: () => void, delay?: number, ...parts: []) => this.#after(work, delay, parts, false),
      setInterval: (work: () => void, delay?: number, ...parts: []) => this.#after(work, delay, parts, true),
      clearTimeout: (timer?: Timer | NodeJS.Timeout) => this.#clear(timer),
      clearInterval: (timer?: Timer | NodeJS.Timeout) => this.#clear(timer),
      setImmediate: (work: (...parts: unknown[]) => void, ...parts: unknown[]) => this.#soon(() => work(...parts)),
      clearImmediate: (immediate?: Immediate | NodeJS.Immediate) => {
        if (immediate instanceof Immediate) immediate.cancel();
        else this.#real.clearImmediate(immediate);
      },
    });
    performance.now = () => clock.#monotonic;
  }

  /** Gives the real time back. Timers of the simulation never run after it. */
  uninstall(): void {
    const { performanceNow, ...globals } = this.#real;
    Object.assign(globalThis, globals);
    performance.now = performanceNow;
    this.#timers = [];
    this.#immediates = [];
  }

  /** Lets so many milliseconds pass, in the world's own time. */
  async pass(milliseconds: number): Promise<void> {
    await this.until(() => false, milliseconds);
  }

  /**
   * Lets time pass until `isThere` holds, which is asked after each thing that happened; at most `limit` milliseconds.
   * Returns whether it holds.
   */
  async until(isThere: () => boolean, limit: number): Promise<boolean> {
    const end = this.#monotonic + limit;
    for (;;) {
      await this.#settle();
      if (isThere()) return true;
      const next = this.#timers[0];
      if (next === undefined || next.at > end) {
        this.#monotonic = Math.max(this.#monotonic, end);
        return isThere();
      }
      this.#timers.shift();
      this.#monotonic = Math.max(this.#monotonic, next.at);
      if (next.life?.isOver === true) continue;
      this.#count();
      next.run();
    }
  }

  /** Lets so many turns of the event loop pass, without time. */
  async turns(count: number): Promise<void> {
    for (let turn = 0; turn < count; turn += 1) {
      await this.#drain();
      this.#immediates.shift()?.();
    }
  }

  /** Also one that was set in the real time, before this clock was installed. */
  #clear(timer: Timer | NodeJS.Timeout | undefined): void {
    if (timer instanceof Timer) timer.cancel();
    else this.#real.clearTimeout(timer);
  }

  /** Does what can be done without time. */
  async #settle(): Promise<void> {
    await this.#drain();
    while (this.#immediates.length > 0) {
      this.#count();
      const due = this.#immediates;
      this.#immediates = [];
      for (const work of due) work();
      await this.#drain();
    }
  }

  #count(): void {
    this.steps += 1;
    if (this.steps > this.mostSteps) throw new Error(`no rest: more than ${this.mostSteps} steps`);
  }

  /** Promises and ticks are done when a real turn of the event loop is over. */
  #drain(): Promise<void> {
    return new Promise((resolve) => this.#real.setImmediate(resolve));
  }

  #soon(work: () => void): Immediate {
    const immediate = new Immediate(work);
    this.#immediates.push(() => immediate.run());
    return immediate;
  }

  #after(work: (...parts: []) => void, delay: number | undefined, parts: [], isRepeated: boolean): Timer {
    const milliseconds = Math.max(1, Number.isFinite(delay) ? delay! : 1);
    const timer = new Timer(() => work(...parts), {
      schedule: (of) => this.#schedule(of, milliseconds),
      cancel: (of) => this.#cancel(of),
      isRepeated,
    });
    this.#schedule(timer, milliseconds);
    return timer;
  }

  #schedule(timer: Timer, milliseconds: number): void {
    timer.at = this.#monotonic + milliseconds;
    timer.order = this.#order++;
    let [low, high] = [0, this.#timers.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#timers[middle]!.at <= timer.at) low = middle + 1;
      else high = middle;
    }
    this.#timers.splice(low, 0, timer);
  }

  #cancel(timer: Timer): void {
    const place = this.#timers.indexOf(timer);
    if (place !== -1) this.#timers.splice(place, 1);
  }
}

interface TimerOptions {
  schedule(timer: Timer): void;
  cancel(timer: Timer): void;
  isRepeated: boolean;
}

/** What keeps a process of Node from its end, which a simulated one does not need. */
class Handle {
  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }
}

/** What the global timers return: as Node's `Timeout`. */
class Timer extends Handle {
  at = 0;
  order = 0;
  readonly life = Life.current;
  readonly #work: () => void;
  readonly #options: TimerOptions;

  constructor(work: () => void, options: TimerOptions) {
    super();
    this.#work = work;
    this.#options = options;
  }

  run(): void {
    if (this.#options.isRepeated) this.#options.schedule(this);
    Life.runIn(this.life, this.#work);
  }

  cancel(): void {
    this.#options.cancel(this);
  }

  close(): this {
    this.cancel();
    return this;
  }

  refresh(): this {
    this.cancel();
    this.#options.schedule(this);
    return this;
  }

  [Symbol.toPrimitive](): number {
    return this.order;
  }
}

class Immediate extends Handle {
  #work: (() => void) | undefined;
  readonly #life = Life.current;

  constructor(work: () => void) {
    super();
    this.#work = work;
  }

  run(): void {
    if (this.#work !== undefined) Life.runIn(this.#life, this.#work);
  }

  cancel(): void {
    this.#work = undefined;
  }
}
