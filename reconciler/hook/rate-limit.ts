import { networkOf } from "../listeners/address.ts";

/** Refused requests that an address may make at once. */
const burst = 20;

/** Milliseconds after which it may make one more. */
const refill = 3000;

/** Addresses that are stored; beyond this number, the one with the oldest refusal is dropped. */
const remembered = 1024;

/** Limits the refused requests of an address, so that no sender can try many secrets or send many bodies. */
export class ClientRateLimit {
  /** The time from which an address may make a whole burst again. */
  readonly #fullAt = new Map<string, number>();

  /** Milliseconds until a request of this address is read again; 0 if it is read now. */
  wait(address: string | undefined, now: number): number {
    const fullAt = this.#fullAt.get(networkOf(address)) ?? 0;
    return Math.max(0, fullAt - now - (burst - 1) * refill);
  }

  /** Counts a refused request. */
  add(address: string | undefined, now: number): void {
    const network = networkOf(address);
    const fullAt = Math.min(now + burst * refill, Math.max(now, this.#fullAt.get(network) ?? 0) + refill);
    this.#fullAt.delete(network);
    this.#fullAt.set(network, fullAt);
    const [oldest] = this.#fullAt.keys();
    if (this.#fullAt.size > remembered && oldest !== undefined) this.#fullAt.delete(oldest);
  }
}

/** Milliseconds between two polls of the source because of pushes. */
const gap = 1000;

/**
 * Triggers a poll of the source at once, and then at most once a second; triggers within that second are one poll. No
 * push is lost, and no number of pushes or repeated deliveries polls the remote more often.
 */
export class Throttle {
  readonly #poll: () => void;
  #last = -Infinity;
  #timer: NodeJS.Timeout | undefined;

  constructor(poll: () => void) {
    this.#poll = poll;
  }

  trigger(): void {
    if (this.#timer !== undefined) return;
    const wait = this.#last + gap - performance.now();
    if (wait <= 0) this.#now();
    else this.#timer = setTimeout(() => this.#now(), wait);
  }

  /** Drops a triggered poll that has not run; the interval polls instead. */
  close(): void {
    clearTimeout(this.#timer);
  }

  #now(): void {
    this.#timer = undefined;
    this.#last = performance.now();
    this.#poll();
  }
}
