const { FUZZ_RUNS, FUZZ_SEED = "1" } = process.env;

/** From which the cases of a fuzzer are drawn: always the same ones, unless FUZZ_SEED names others. */
export const seed = Number(FUZZ_SEED);

/** Whether this is `npm run fuzz`, where a property is tried once, and as often as FUZZ_RUNS says. */
export const isLongForm = FUZZ_RUNS !== undefined;

/** How often a property is tried: `short` times, unless FUZZ_RUNS says otherwise. */
export function triesOf(short: number): number {
  return Number(FUZZ_RUNS ?? short);
}
