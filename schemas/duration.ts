/**
 * Durations as pipeline files write them (docs/reference/pipeline.md): one or more `<decimal><unit>` with the
 * units ns, us, µs, ms, s, m and h, or a plain `0`. `<integer>d` stands for that many times 24 hours; `1.5d` is refused.
 */
const nanosecondsOf: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
  d: 86_400_000_000_000n,
};

const whole = /^([+-])?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h)|\d+d)+$/;
const part = /(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h|d)/g;
const longest = 2n ** 63n - 1n;
const textLimit = 64;

/** Nanoseconds, rounded towards zero; undefined if `text` is no duration or longer than 292 years. */
export function parseDuration(text: string): bigint | undefined {
  if (text.length > textLimit) return undefined;
  if (/^[+-]?0+$/.test(text)) return 0n;
  const sign = whole.exec(text);
  if (sign === null) return undefined;
  let total = 0n;
  for (const [, integer = "", fraction = "", unit = ""] of text.matchAll(part)) {
    const scale = nanosecondsOf[unit] ?? 0n;
    total += BigInt(integer || "0") * scale;
    total += (BigInt(fraction || "0") * scale) / 10n ** BigInt(fraction.length);
  }
  if (total > longest) return undefined;
  return sign[1] === "-" ? -total : total;
}

/** Milliseconds of a duration that was validated; may have a fraction. Throws a RangeError if it is none. */
export function durationMs(text: string): number {
  const nanoseconds = parseDuration(text);
  if (nanoseconds === undefined) throw new RangeError(`expected a duration such as "30s", got "${text}"`);
  return Number(nanoseconds) / 1e6;
}

/** The one canonical spelling: `1h0m0s`, `1m0s`, `1.5s`, `500ms`, `0s`. */
export function printDuration(nanoseconds: bigint): string {
  if (nanoseconds < 0n) return `-${printDuration(-nanoseconds)}`;
  if (nanoseconds === 0n) return "0s";
  if (nanoseconds < 1_000_000_000n) return printBelowSecond(nanoseconds);
  const hours = nanoseconds / 3_600_000_000_000n;
  const minutes = (nanoseconds / 60_000_000_000n) % 60n;
  const seconds = decimal(nanoseconds % 60_000_000_000n, 9);
  if (hours > 0n) return `${hours}h${minutes}m${seconds}s`;
  return minutes > 0n ? `${minutes}m${seconds}s` : `${seconds}s`;
}

function printBelowSecond(nanoseconds: bigint): string {
  if (nanoseconds < 1_000n) return `${nanoseconds}ns`;
  if (nanoseconds < 1_000_000n) return `${decimal(nanoseconds, 3)}µs`;
  return `${decimal(nanoseconds, 6)}ms`;
}

/** `value` divided by 10^digits, without trailing zeros. */
function decimal(value: bigint, digits: number): string {
  const text = value.toString().padStart(digits + 1, "0");
  return `${text.slice(0, -digits)}.${text.slice(-digits)}`.replace(/\.?0+$/, "");
}

/** Canonical spelling of a duration that was validated. Throws a RangeError if it is none. */
export function canonicalDuration(text: string): string {
  const nanoseconds = parseDuration(text);
  if (nanoseconds === undefined) throw new RangeError(`expected a duration such as "30s", got "${text}"`);
  return printDuration(nanoseconds);
}

/** A canonical duration as a person writes it: `24h` for `24h0m0s`. */
export function shortDuration(canonical: string): string {
  return canonical.replace(/(?<=\d[hm])0[ms](?:0s)?$/, "").replace(/(?<=\dh)0m(?=\d)/, "");
}
