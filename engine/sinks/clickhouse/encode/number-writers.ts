import { exactWhole, isRounded } from "../../../event/plain-numbers.ts";
import type { Writer } from "./writer.ts";

/**
 * Whole numbers within the range of the column. Columns wider than 64 bits get strings, so that no reader turns them
 * into floats.
 */
export function whole(signed: boolean, bits: 8 | 16 | 32 | 64 | 128 | 256): Writer {
  const min = signed ? -(2n ** BigInt(bits - 1)) : 0n;
  const max = 2n ** BigInt(signed ? bits - 1 : bits) - 1n;
  const [low, high] = [Number(min), Number(max)];
  return {
    write: (value) => {
      const exact = typeof value === "number" ? exactWhole(value) : typeof value === "boolean" ? Number(value) : value;
      if (typeof exact === "number") return exact >= low && exact <= high ? String(exact) : undefined;
      if (typeof exact !== "bigint" || exact < min || exact > max) return undefined;
      return bits > 64 ? `"${exact}"` : exact.toString();
    },
    expected: (value) => `a whole number from ${min} to ${max}${whyUnfit(value, signed)}`,
    zero: "0",
  };
}

/** What else there is to say of a number that is refused. */
function whyUnfit(value: unknown, isSigned: boolean): string {
  const number = typeof value === "string" && decimalLayout.test(value) ? Number(value) : value;
  if (typeof number === "number" && Number.isFinite(number) && !Number.isInteger(number))
    return " (round(x), floor(x) or ceil(x) in a stateless transform leaves no fraction)";
  if (!isSigned && (typeof number === "number" || typeof number === "bigint") && number < 0)
    return " (the column holds no negative numbers, one of type Int does)";
  return typeof value === "number" && isRounded(value) ? ", written out in digits" : "";
}

const decimalLayout = /^[+-]?\d{1,300}(?:\.\d{1,300})?$/;

/** Finite numbers, for a Float32 or BFloat16 only those that stay finite; NaN and infinities where they were named (`readFloat`). */
export function float(bits: 16 | 32 | 64): Writer {
  const fits = bits < 64 ? (value: number) => Number.isFinite(Math.fround(value)) : Number.isFinite;
  return {
    write: (value) => {
      if (typeof value === "string") return `"${value}"`;
      const number = typeof value === "bigint" ? Number(value) : value;
      return typeof number === "number" && fits(number) ? String(number) : undefined;
    },
    expected: bits < 64 ? "a number up to 3.4028234663852886e+38 on either side of 0" : "a finite number",
    zero: "0",
  };
}

/** The most significant digits that survive in a double unchanged. */
const exactDigits = 15;

function isInexact(value: string | number | bigint): boolean {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return false;
  const digits = String(value)
    .replace(/e.*$|\D/g, "")
    .replace(/^0+/, "");
  return isRounded(value) || digits.length > exactDigits;
}

/** How far a number may be from a value of the column, as a part of itself, to be taken for it. */
const noise = 1e-9;

/**
 * A number as a binary float that was computed: `0.1 + 0.2` is 0.30000000000000004. Its text with the digits of the
 * column, where that is so close that the rest is noise; undefined for any other number, and for whole ones, of which
 * every digit counts.
 */
function withoutNoise(value: number, scale: number): string | undefined {
  if (Number.isInteger(value) || !Number.isFinite(value)) return undefined;
  const text = value.toFixed(scale);
  // A float knows no more digits: those of a column with a larger scale are no rounding.
  const isKnown = text.replace(/\D/g, "").replace(/^0+/, "").length <= exactDigits;
  return isKnown && Math.abs(Number(text) - value) <= noise * Math.abs(value) ? text : undefined;
}

/** Numbers whose digits all fit, but for the noise of binary floats: none is cut. */
export function decimal(precision: number, scale: number): Writer {
  const exact = (value: string | number | bigint): string | undefined =>
    isInexact(value) ? undefined : decimalText(String(value), precision, scale);
  const rounded = scale === 0 ? "round(x)" : `round(x * 1e${scale}) / 1e${scale}`;
  return {
    write: (value) => {
      if (typeof value === "object" || typeof value === "boolean") return undefined;
      const close = typeof value === "number" ? withoutNoise(value, scale) : undefined;
      const digits = exact(value) ?? (close && decimalText(close, precision, scale));
      return digits === undefined ? undefined : `"${digits}"`;
    },
    expected: `a number with up to ${precision - scale} digits before and ${scale} after the point (as a string, if it has more than ${exactDigits} digits in all; ${rounded} in a stateless transform cuts digits)`,
    zero: "0",
  };
}

const layout = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,4}))?$/;

/**
 * A number's text as a Decimal(precision, scale), without an exponent; undefined if it is not a number, too big, or has
 * digits that the scale would cut: ClickHouse would drop them in silence.
 */
function decimalText(text: string, precision: number, scale: number): string | undefined {
  const match = layout.exec(text);
  if (match === null || text.length > 400) return undefined;
  const [, sign = "", before = "", fraction = "", exponent = "0"] = match;
  if (before === "" && fraction === "") return undefined;
  const [integer, rest] = shift(before, fraction, Number(exponent));
  if (integer.length > precision - scale || rest.length > scale) return undefined;
  const magnitude = `${integer === "" ? "0" : integer}${rest === "" ? "" : `.${rest}`}`;
  return sign === "-" && magnitude !== "0" ? `-${magnitude}` : magnitude;
}

/** Digits before and after the point once it has moved by `exponent`, without leading and trailing zeros. */
function shift(before: string, fraction: string, exponent: number): [string, string] {
  const digits = before + fraction;
  const significant = digits.replace(/^0+/, "");
  if (significant === "") return ["", ""];
  const point = significant.length - fraction.length + exponent;
  const integer = point > 0 ? significant.slice(0, point).padEnd(point, "0") : "";
  const rest = point > 0 ? significant.slice(point) : "0".repeat(-point) + significant;
  return [integer, rest.replace(/0+$/, "")];
}
