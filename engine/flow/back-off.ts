/**
 * How long to wait after attempt number `attempt` (from 1) has failed: `first` milliseconds, twice as long after each
 * one, at most `longest`. Up to half of it is left off at random, so that what failed together is not tried together.
 */
export function backOff(attempt: number, first: number, longest: number): number {
  return Math.min(longest, first * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2);
}
