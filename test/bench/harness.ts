/** Runs of each measurement; the shortest counts. */
export const RUNS = 9;

/** The shortest of the runs of `work`, each `passes` times over `events` events, in microseconds per event. */
export function microseconds(events: number, passes: number, work: () => void): number {
  let best = Infinity;
  for (let turn = 0; turn < RUNS; turn += 1) {
    const start = process.hrtime.bigint();
    for (let pass = 0; pass < passes; pass += 1) work();
    best = Math.min(best, Number(process.hrtime.bigint() - start) / 1000 / events / passes);
  }
  return best;
}

/** A line that sets a cost beside that of the parse in the same run. */
export function row(name: string, cost: number, parse: number): string {
  return `${name.padEnd(40)} ${cost.toFixed(3).padStart(8)} us/event ${((cost / parse) * 100).toFixed(1).padStart(6)} % of the parse`;
}
