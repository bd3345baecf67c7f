import type { JsonBytes } from "./json-bytes.ts";

/** The shortest decimal that means this number, never with an exponent; NaN, +Inf and -Inf for what has none. */
export function decimal(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  if (Object.is(value, -0)) return "-0";
  const text = String(value);
  const exponent = text.indexOf("e");
  return exponent === -1 ? text : spelledOut(text.slice(0, exponent), Number(text.slice(exponent + 1)));
}

/** Moves the point of `-d.ddd` by `exponent` places. */
function spelledOut(mantissa: string, exponent: number): string {
  const sign = mantissa.startsWith("-") ? "-" : "";
  const [whole = "", fraction = ""] = mantissa.slice(sign.length).split(".");
  const digits = whole + fraction;
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  return sign + digits.padEnd(exponent + 1, "0");
}

/** Writes a field's number; null for NaN and infinities, which JSON has not. */
export function writeNumber(out: JsonBytes, value: number): void {
  if (!Number.isFinite(value)) out.ascii("null");
  else if (Number.isSafeInteger(value) && value > 0) out.digits(value);
  else out.ascii(Object.is(value, -0) ? "-0" : String(value));
}
