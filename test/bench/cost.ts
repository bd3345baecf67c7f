/** What a run took. */
export interface Cost {
  seconds: number;
  /** CPU-seconds of the process while events came. */
  cpu: number;
  /** With its start. */
  whole?: number;
  /** Peak, in bytes. */
  memory?: number;
}

/** The one in the middle of the values that are known. */
export function median(values: readonly (number | undefined)[] = []): number | undefined {
  const known = values.filter((value) => value !== undefined).toSorted((a, b) => a - b);
  return known[Math.floor(known.length / 2)];
}
