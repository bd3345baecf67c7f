/** A number with the fewest digits that represent it exactly, never with an exponent; NaN, +Inf and -Inf have none. */
export function plainNumber(value: number | bigint): string {
  if (typeof value === "bigint") return value.toString();
  if (!Number.isFinite(value)) return infinite(value);
  const text = Object.is(value, -0) ? "-0" : String(value);
  const exponent = text.indexOf("e");
  return exponent === -1 ? text : moved(text.slice(0, exponent), Number(text.slice(exponent + 1)));
}

/** A value without digits. */
export function infinite(value: number): string {
  return Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
}

/** Moves the point of `digits` by `places`. */
function moved(digits: string, places: number): string {
  const sign = digits.startsWith("-") ? "-" : "";
  const [whole = "", fraction = ""] = digits.replace("-", "").split(".");
  if (places >= 0) return sign + whole + fraction.padEnd(places, "0");
  return `${sign}0.${"0".repeat(-places - whole.length)}${whole}${fraction}`;
}

/** Digits that survive in a double unchanged. */
const exactDigits = 15;

/**
 * Whether the JSON parser may have rounded a whole number, so that its digits are unknown: beyond 2^53, unless it is one
 * of so few digits and zeros, such as 1e19.
 */
export function isRounded(value: number): boolean {
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return false;
  const [mantissa = ""] = value.toExponential().split("e");
  return mantissa.replaceAll(/\D/g, "").length > exactDigits;
}

/** A whole number of which all digits are known; undefined for any other number. */
export function exactWhole(value: number): number | bigint | undefined {
  if (Number.isSafeInteger(value)) return value;
  return Number.isInteger(value) && !isRounded(value) ? BigInt(plainNumber(value)) : undefined;
}
