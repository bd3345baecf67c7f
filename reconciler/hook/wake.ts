/** Milliseconds between two looks at the source that pushes ask for. */
const gap = 1000;

/**
 * Asks for a look at the source: at once, and then at most once a second, in which all that was asked meanwhile is one.
 * No push is lost, and no number of them, nor of deliveries that are sent again, makes us ask the remote more often.
 */
export class Wake {
  readonly #look: () => void;
  #last = -Infinity;
  #timer: NodeJS.Timeout | undefined;

  constructor(look: () => void) {
    this.#look = look;
  }

  ask(): void {
    if (this.#timer !== undefined) return;
    const wait = this.#last + gap - performance.now();
    if (wait <= 0) this.#now();
    else this.#timer = setTimeout(() => this.#now(), wait);
  }

  /** What was asked for and has not happened is left to the next poll. */
  close(): void {
    clearTimeout(this.#timer);
  }

  #now(): void {
    this.#timer = undefined;
    this.#last = performance.now();
    this.#look();
  }
}
