import { EngineError } from "../core/errors.ts";

/** What senders may push to one pipeline in a second. `Infinity` is unlimited. */
export interface PushRates {
  eventsPerSecond: number;
  bytesPerSecond: number;
}

export const defaultPushRates: PushRates = { eventsPerSecond: Infinity, bytesPerSecond: Infinity };

interface Amount {
  events: number;
  bytes: number;
}

/** What a pipeline may still push, as it was at a time of the monotonic clock in milliseconds. */
interface Bucket extends Amount {
  at: number;
}

/**
 * The rates of pushes, by pipeline: a webhook token belongs to one pipeline, and OTLP has no tokens. Each has a token
 * bucket that holds what may be pushed in one second. A push is taken while the bucket is not empty, and may overdraw it,
 * so that one larger than a second's worth is not refused for ever; later ones wait until that is paid back.
 */
export class RateLimits {
  readonly #rates: PushRates;
  readonly #buckets = new Map<string, Bucket>();

  constructor(rates: PushRates) {
    this.#rates = rates;
  }

  /** Throws RATE_LIMITED, with `retry_after` in seconds, where a pipeline has pushed more than it may. */
  take(pipeline_id: string, { events, bytes }: Amount): void {
    const { eventsPerSecond, bytesPerSecond } = this.#rates;
    if (eventsPerSecond === Infinity && bytesPerSecond === Infinity) return;
    const { at, ...left } = this.#filled(pipeline_id, performance.now());
    if (left.events <= 0 || left.bytes <= 0) {
      const seconds = Math.max(1, paidBackIn(left.events, eventsPerSecond), paidBackIn(left.bytes, bytesPerSecond));
      throw limited(this.#rates, Math.ceil(seconds));
    }
    this.#buckets.set(pipeline_id, { at, events: left.events - events, bytes: left.bytes - bytes });
  }

  /** Drops what is known of a deleted pipeline. */
  forget(pipeline_id: string): void {
    this.#buckets.delete(pipeline_id);
  }

  #filled(pipeline_id: string, now: number): Bucket {
    const { eventsPerSecond, bytesPerSecond } = this.#rates;
    const bucket = this.#buckets.get(pipeline_id);
    if (bucket === undefined) return { at: now, events: eventsPerSecond, bytes: bytesPerSecond };
    const seconds = (now - bucket.at) / 1000;
    return {
      at: now,
      events: refilled(bucket.events, eventsPerSecond, seconds),
      bytes: refilled(bucket.bytes, bytesPerSecond, seconds),
    };
  }
}

function refilled(level: number, rate: number, seconds: number): number {
  return rate === Infinity ? Infinity : Math.min(rate, level + rate * seconds);
}

/** Seconds until a level is 0. */
function paidBackIn(level: number, rate: number): number {
  return rate === Infinity ? 0 : -level / rate;
}

function limited({ eventsPerSecond, bytesPerSecond }: PushRates, retry_after: number): EngineError {
  const rates = [
    ...(eventsPerSecond === Infinity ? [] : [`${eventsPerSecond} events`]),
    ...(bytesPerSecond === Infinity ? [] : [`${bytesPerSecond} bytes`]),
  ];
  const text = `this pipeline takes ${rates.join(" and ")} a second, and more was sent: send the request again later`;
  return new EngineError("RATE_LIMITED", text, { details: { retry_after } });
}
