/**
 * Quantities as pipeline files write them (docs/reference/pipeline.md): a decimal number, then nothing, one of `n u m k
 * M G T P E`, one of `Ki Mi Gi Ti Pi Ei`, or a decimal exponent. Sizes of the stream also take KB, MB, GB and TB in any
 * case, powers of 1024 like `Ki Mi Gi Ti`.
 */
const grammar = /^([+-])?(\d+(?:\.\d*)?|\.\d+)(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?\d{1,2}|[kKmMgGtT][bB])?$/;
const thousands = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const binary = ["", "K", "M", "G", "T", "P", "E"];
const nano = 1_000_000_000n;
const textLimit = 64;
/** In units. */
const largest = 2n ** 63n - 1n;

/**
 * Billionths of the unit, rounded away from zero as Kubernetes does, and like there at most 2^63 - 1 units; undefined if
 * `text` is no quantity.
 */
export function parseQuantity(text: string): bigint | undefined {
  if (text.length > textLimit) return undefined;
  const match = grammar.exec(text);
  if (match === null) return undefined;
  const [, sign, number = "", suffix = ""] = match;
  const [integer = "", fraction = ""] = number.split(".");
  const scale = scaleOf(suffix);
  const numerator = BigInt(`${integer}${fraction}`) * nano * scale.up;
  const value = divideUp(numerator, 10n ** BigInt(fraction.length) * scale.down);
  const counted = value > largest * nano ? largest * nano : value;
  return sign === "-" ? -counted : counted;
}

function scaleOf(suffix: string): { up: bigint; down: bigint } {
  if (/^[eE][+-]?\d/.test(suffix)) return powerOfTen(Number(suffix.slice(1)));
  if (/^.[iIbB]$/.test(suffix))
    return { up: 1024n ** BigInt(binary.indexOf(suffix.charAt(0).toUpperCase())), down: 1n };
  return powerOfTen(3 * (thousands.indexOf(suffix) - 3));
}

function powerOfTen(exponent: number): { up: bigint; down: bigint } {
  return exponent < 0 ? { up: 1n, down: 10n ** BigInt(-exponent) } : { up: 10n ** BigInt(exponent), down: 1n };
}

function divideUp(numerator: bigint, denominator: bigint): bigint {
  return (numerator + denominator - 1n) / denominator;
}

/** Bytes of a quantity that was validated, a fraction of a byte rounded up. Throws a RangeError if it is none. */
export function quantityBytes(text: string): number {
  return Number(divideUp(parsed(text), nano));
}

/** The one canonical spelling of a size: whole bytes in the largest binary unit that divides them, such as `10Gi`. */
export function canonicalSize(text: string): string {
  let bytes = divideUp(parsed(text), nano);
  let unit = 0;
  while (bytes !== 0n && bytes % 1024n === 0n && unit < binary.length - 1) {
    bytes /= 1024n;
    unit += 1;
  }
  return unit === 0 ? `${bytes}` : `${bytes}${binary[unit]}i`;
}

/** The one canonical spelling of an amount of cpu: `2`, `500m`, `1500m`, `10u`. */
export function canonicalCpu(text: string): string {
  const value = parsed(text);
  if (value % nano === 0n) return `${value / nano}`;
  if (value % 1_000_000n === 0n) return `${value / 1_000_000n}m`;
  return value % 1_000n === 0n ? `${value / 1_000n}u` : `${value}n`;
}

function parsed(text: string): bigint {
  const value = parseQuantity(text);
  if (value === undefined) throw new RangeError(`expected a quantity such as "128Mi", got "${text}"`);
  return value;
}
