/** The least and the greatest share of a wait that is waited; the share is drawn at random between them. */
export type Spread = readonly [least: number, most: number];

/** A wait in milliseconds with a random change, so that waits that begin together do not end together. */
export function jitter(milliseconds: number, [least, most]: Spread): number {
  return milliseconds * (least + Math.random() * (most - least));
}

/**
 * How long to wait after attempt number `attempt` (from 1) has failed: `first` milliseconds, twice as long after each
 * one, at most `longest`. By default it is shortened at random by up to a half.
 */
export function backOff(attempt: number, first: number, longest: number, spread: Spread = [0.5, 1]): number {
  return jitter(Math.min(longest, first * 2 ** (attempt - 1)), spread);
}
