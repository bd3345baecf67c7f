import { randomUUID } from "node:crypto";
import { withMarks } from "./exact-json.ts";

/**
 * Numbers of JSON that a parse rounds to a whole one: 4503599627370497.5 becomes 4503599627370498, and
 * 1.00000000000000001 becomes 1. Whole numbers in digits keep them (`parseExactly`) and are none of these.
 */

/** Begins a text that stands for such a number. Random in each process, so that no event contains it. */
const mark = `${randomUUID()}:`;

/** Decimal digits that survive in every double unchanged. */
const exactDigits = 15;

/** Digits and points of the shortest such number that has no exponent. */
const shortest = exactDigits + 1;

const token = /-?\d[\d.]*(?:[eE][+-]?\d+)?/g;
const number = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/;

/** An object of JSON whose numbers of this kind are texts for `lostDigitsIn`; undefined where it has none. */
export function withLostDigits(bytes: Buffer): Record<string, unknown> | undefined {
  if (!mayLoseDigits(bytes)) return undefined;
  const text = bytes.toString();
  const marked = withMarks(text, mark, token, isRoundedToWhole);
  return marked === text ? undefined : (JSON.parse(marked.replace(/^\uFEFF/, "")) as Record<string, unknown>);
}

/** One such number in a value that was read from that object, as the event spells it; undefined where there is none. */
export function lostDigitsIn(root: unknown): string | undefined {
  const open = [root];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value === "string" && value.startsWith(mark)) return value.slice(mark.length);
    if (typeof value !== "object" || value === null) continue;
    for (const inner of Object.values(value)) open.push(inner);
  }
  return undefined;
}

/** Whether a token is a number with a point or an exponent, of more digits than a double keeps, which it rounds to a whole one. */
function isRoundedToWhole(found: string): boolean {
  const [, whole, fraction = "", exponent = "0"] = number.exec(found) ?? [];
  const rounded = Number(found);
  if (whole === undefined || !Number.isInteger(rounded) || !/[.eE]/.test(found)) return false;
  const digits = (whole + fraction).replace(/0+$/, "");
  if (digits.replace(/^0+/, "").length <= exactDigits) return false;
  const power = Number(exponent) - fraction.length + (whole.length + fraction.length - digits.length);
  const size = BigInt(Math.abs(rounded));
  return power < 0 || BigInt(digits) * 10n ** BigInt(power) !== size;
}

/** Every sixteenth byte is examined, which finds each run of so many digits and points. Never false where there is one. */
function mayLoseDigits(bytes: Buffer): boolean {
  for (let at = shortest - 1; at < bytes.length; at += shortest) {
    if (!isOfRun(bytes[at])) continue;
    let start = at;
    while (isOfRun(bytes[start - 1])) start -= 1;
    while (isOfRun(bytes[at + 1])) at += 1;
    if (at - start + 1 >= shortest && isSuspect(bytes, start, at + 1)) return true;
  }
  return false;
}

const [zero, nine, point, letterE] = [0x30, 0x39, 0x2e, 0x65];

function isOfRun(byte: number | undefined): boolean {
  return byte !== undefined && ((byte >= zero && byte <= nine) || byte === point);
}

/** Coordinates often have so many digits: they are no whole numbers. */
function isSuspect(bytes: Buffer, start: number, end: number): boolean {
  if (((bytes[end] ?? 0) | 0x20) === letterE) return true;
  const text = bytes.toString("latin1", start, end);
  return text.includes(".") && Number.isInteger(Number(text));
}
