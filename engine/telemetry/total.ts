import type { Counter, Gauge, Histogram } from "prom-client";
import type { Log } from "./log.ts";

type Metric = Counter | Gauge | Histogram;

/** The functions that take a number, with the least that it may be. */
const takers = { inc: 0, dec: 0, set: -Infinity, observe: 0 } as const;

/**
 * A metric whose calls never throw: a number that it cannot take, or a label that it does not have, is left out and said
 * once. What is counted must not end what counts it.
 */
export function total<M extends Metric>(metric: M, name: string, log: Log): M {
  let isSaid = false;
  const refuse = (reason: string): void => {
    if (isSaid) return;
    isSaid = true;
    log.error(
      { metric: name, reason },
      "A metric was given what it cannot take; that is left out, here and from now on.",
    );
  };
  const calls = metric as unknown as Record<string, ((...given: unknown[]) => unknown) | undefined>;
  for (const [taker, least] of Object.entries(takers)) {
    const call = calls[taker]?.bind(metric);
    if (call === undefined) continue;
    calls[taker] = (...given: unknown[]): void => {
      const value = given.find((one) => typeof one === "number");
      if (value !== undefined && !(Number.isFinite(value) && value >= least)) {
        refuse(`${taker} of ${value}: expected a finite number${least === 0 ? " of at least 0" : ""}`);
        return;
      }
      try {
        call(...given);
      } catch (error) {
        refuse(`${taker}: ${(error as Error).message}`);
      }
    };
  }
  return metric;
}
