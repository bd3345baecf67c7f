import type { Terminal } from "./terminal.ts";

/** Milliseconds: a command that takes less shows nothing, and how often the line is drawn after that. */
const [patience, interval] = [1_000, 200];

/**
 * Shows on a terminal what a command does, and for how long, once it has taken a second. Elsewhere it shows nothing. It
 * never keeps the process alive.
 */
export class Progress {
  readonly #terminal: Pick<Terminal, "progress">;
  readonly #name: string;
  readonly #began = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #step = "";
  #nextLine = this.#began + patience;

  /** `name` is what takes the time, such as `sluice plan`. */
  constructor(terminal: Pick<Terminal, "progress">, name: string) {
    this.#terminal = terminal;
    this.#name = name;
    if (terminal.progress !== undefined) this.#timer = setInterval(() => this.#draw(), interval).unref();
  }

  /** What is done from now on, such as `12 of 400 files`. May be called often, also where nothing else gets a turn. */
  step(text: string): void {
    this.#step = text;
    this.#draw();
  }

  /** Removes the line. What is reported after that is not shown. */
  end(): void {
    clearInterval(this.#timer);
    this.#nextLine = Infinity;
    this.#terminal.progress?.("");
  }

  #draw(): void {
    const now = performance.now();
    if (this.#terminal.progress === undefined || now < this.#nextLine) return;
    this.#nextLine = now + interval;
    const seconds = Math.floor((now - this.#began) / 1_000);
    this.#terminal.progress(`${this.#name}: ${this.#step === "" ? "" : `${this.#step}, `}${seconds} s`);
  }
}
