/**
 * Requests for a turn, each with a token that is echoed when a turn that began after it has ended. A token is a time,
 * ISO 8601 in UTC, and each is later than the one before it: a turn that answers one answers all earlier ones.
 */
export class Requests {
  #asked = "";
  #handled: string | undefined;

  /** The token of a new request. */
  ask(): string {
    const next = Math.max(Date.now(), this.#asked === "" ? 0 : Date.parse(this.#asked) + 1);
    this.#asked = new Date(next).toISOString();
    return this.#asked;
  }

  /** What a turn that begins now answers: the newest token, where there is one. */
  get newest(): string | undefined {
    return this.#asked === "" ? undefined : this.#asked;
  }

  get handled(): string | undefined {
    return this.#handled;
  }

  /** A turn has ended that began when `token` was the newest. */
  handle(token: string | undefined): void {
    this.#handled = token ?? this.#handled;
  }

  isHandled(token: string): boolean {
    return this.#handled !== undefined && token <= this.#handled;
  }
}
