import { padded, piece, pieces } from "./layout-pieces.ts";
import type { Parts } from "./layout-pieces.ts";
import { Time } from "./time.ts";
import { civil, Timezone } from "./zones.ts";

/** Writes a time in its zone. */
export function formatTime(time: Time, layout: string): string {
  const { wall } = time;
  return layout.replaceAll(piece, (found) => pieces[found]?.write(wall, time) ?? fraction(found, time.fraction));
}

function fraction(found: string, nanoseconds: number): string {
  const all = padded(nanoseconds, 9).slice(0, found.length - 1);
  const shown = found[1] === "9" ? all.replace(/0+$/, "") : all;
  return shown === "" ? "" : found.charAt(0) + shown;
}

/** `2006-01-02 15:04:05.999 +0000 UTC`, as `string(…)` prints a time. */
export function timeText(time: Time): string {
  return formatTime(time, "2006-01-02 15:04:05.999999999 -0700 MST");
}

/** A layout as a pattern whose groups are the pieces in `keys`. */
interface Reader {
  readonly pattern: RegExp;
  readonly keys: readonly string[];
}

const readers = new Map<string, Reader>();
const MOST_READERS = 64;

/** Reads a text by a layout; times without a zone are in `zone`. Undefined if the text does not fit. */
export function parseTime(text: string, layout: string, zone: Timezone = Timezone.utc): Time | undefined {
  let reader = readers.get(layout);
  if (reader === undefined) {
    if (readers.size >= MOST_READERS) readers.delete(readers.keys().next().value ?? "");
    reader = makeReader(layout);
    readers.set(layout, reader);
  }
  const fields = reader.pattern.exec(text);
  return fields === null ? undefined : assemble(reader.keys, fields.slice(1), zone);
}

function makeReader(layout: string): Reader {
  const keys: string[] = [];
  let pattern = "";
  let end = 0;
  for (const match of layout.matchAll(piece)) {
    const [key] = match;
    pattern += escaped(layout.slice(end, match.index));
    end = match.index + key.length;
    keys.push(key);
    // A lookahead with a back reference makes each piece atomic (no backtracking), so that reading takes linear time. The
    // reference has a name, since a digit may follow.
    pattern += `(?=(?<p${keys.length}>${readPiece(key, layout.slice(end))}))\\k<p${keys.length}>`;
  }
  return { pattern: new RegExp(`^${pattern}${escaped(layout.slice(end))}$`), keys };
}

/** Seconds may have a fraction that the layout does not show. Of any fraction, nanoseconds are kept. */
function readPiece(key: string, rest: string): string {
  if (key.startsWith(".") || key.startsWith(",")) {
    return key[1] === "9" ? String.raw`[.,]\d+|` : String.raw`[.,]\d{${key.length - 1}}`;
  }
  const reads = pieces[key]?.reads ?? "";
  const silent = (key === "05" || key === "5") && !/^[.,][09]/.test(rest);
  return silent ? String.raw`(?:${reads})(?:[.,]\d+)?` : reads;
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/-]/g, String.raw`\$&`);
}

function assemble(found: readonly string[], fields: readonly string[], zone: Timezone): Time | undefined {
  const parts: Parts = {
    year: 0,
    month: 1,
    day: 1,
    hour: 0,
    minute: 0,
    second: 0,
    nanosecond: 0,
    yearDay: undefined,
    afternoon: undefined,
    offset: undefined,
    zone: undefined,
  };
  found.forEach((key, index) => {
    const [whole = "", decimals] = (fields[index] ?? "").split(/[.,]/);
    if (decimals !== undefined) parts.nanosecond = Number(decimals.slice(0, 9).padEnd(9, "0"));
    if (whole !== "") pieces[key]?.take(parts, whole);
  });
  if (parts.yearDay !== undefined && !takesYearDay(parts, parts.yearDay)) return undefined;
  if (parts.afternoon !== undefined && parts.hour > 12) return undefined;
  if (parts.afternoon !== undefined) parts.hour = (parts.hour % 12) + (parts.afternoon ? 12 : 0);
  return isDate(parts) ? located(parts, zone) : undefined;
}

/** Sets month and day by the day of the year; false where the year has no such day. */
function takesYearDay(parts: Parts, yearDay: number): boolean {
  const date = new Date((civil(parts.year, 1, 1) + (yearDay - 1) * 86_400) * 1000);
  if (yearDay < 1 || date.getUTCFullYear() !== parts.year) return false;
  [parts.month, parts.day] = [date.getUTCMonth() + 1, date.getUTCDate()];
  return true;
}

function isDate({ year, month, day, hour, minute, second }: Parts): boolean {
  if (month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59) return false;
  return new Date(civil(year, month, day) * 1000).getUTCMonth() === month - 1;
}

function located(parts: Parts, zone: Timezone): Time {
  const local = civil(parts.year, parts.month, parts.day) + parts.hour * 3600 + parts.minute * 60 + parts.second;
  const at = (seconds: number, where: Timezone): Time =>
    new Time(BigInt(seconds) * 1_000_000_000n + BigInt(parts.nanosecond), where);
  if (parts.offset !== undefined) {
    return at(local - parts.offset, parts.offset === 0 ? Timezone.utc : Timezone.fixed(parts.offset, parts.zone));
  }
  if (parts.zone === "UTC") return at(local, Timezone.utc);
  if (parts.zone !== undefined && parts.zone !== zone.abbreviation(local))
    return at(local, Timezone.fixed(0, parts.zone));
  return inZone(local, parts.nanosecond, zone);
}

/** The moment of a local time of a zone, in seconds as if they were UTC, and nanoseconds within the second. */
export function inZone(local: number, nanosecond: number, zone: Timezone): Time {
  // The offset at the moment itself, computed twice, because it may change between the first guess and the moment.
  const guess = local - zone.offset(local);
  const seconds = local - zone.offset(guess);
  return new Time(BigInt(seconds) * 1_000_000_000n + BigInt(nanosecond), zone);
}
