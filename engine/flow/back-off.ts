/** The shares of a wait that are waited at least and at most. What lies between is drawn at random. */
export type Spread = readonly [least: number, most: number];

/** A wait in milliseconds, shorter or longer at random, so that many that begin it together do not end it together. */
export function jitter(milliseconds: number, [least, most]: Spread): number {
  return milliseconds * (least + Math.random() * (most - least));
}

/**
 * How long to wait after attempt number `attempt` (from 1) has failed: `first` milliseconds, twice as long after each
 * one, at most `longest`. By default up to half of it is left off at random.
 */
export function backOff(attempt: number, first: number, longest: number, spread: Spread = [0.5, 1]): number {
  return jitter(Math.min(longest, first * 2 ** (attempt - 1)), spread);
}
