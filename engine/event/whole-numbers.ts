/** Digits that survive in a double unchanged. */
const exactDigits = 15;

/**
 * Whether the JSON parser may have rounded a whole number, so that its digits are unknown: beyond 2^53, unless it is one
 * of so few digits and zeros, such as 1e19.
 */
export function isRounded(value: number): boolean {
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return false;
  return digitsOf(value).length > exactDigits;
}

/** The digits of a number of which it has the fewest, without the zeros at its end. */
function digitsOf(value: number): string {
  const [mantissa = ""] = value.toExponential().split("e");
  return mantissa.replaceAll(/\D/g, "");
}

/** A number in its shortest form, but a large one with all its digits in place of an exponent. */
export function inDigits(value: number): string {
  const text = String(value);
  const [, power] = /e\+(\d+)$/.exec(text) ?? [];
  if (power === undefined) return text;
  return `${value < 0 ? "-" : ""}${digitsOf(value).padEnd(Number(power) + 1, "0")}`;
}

/** A whole number of which all digits are known; undefined for any other number. */
export function exactWhole(value: number): number | bigint | undefined {
  if (Number.isSafeInteger(value)) return value;
  return Number.isInteger(value) && !isRounded(value) ? BigInt(inDigits(value)) : undefined;
}
