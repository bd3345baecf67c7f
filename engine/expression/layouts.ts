import { civil, offsetText, Time, Timezone } from "./time.ts";

export const months = "January February March April May June July August September October November December".split(
  " ",
);
export const days = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(" ");

/** What is read of a date. Fields that the layout does not have keep these. */
interface Parts {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
  nanosecond: number;
  afternoon: boolean | undefined;
  /** Seconds east of UTC. */
  offset: number | undefined;
  zone: string | undefined;
}

/**
 * A layout shows how the reference time, Mon Jan 2 15:04:05 MST 2006, would be written. Each piece has the pattern that
 * reads it, what it does to the parts, and how it is written. The first that fits the layout counts.
 */
interface Piece {
  readonly reads: string;
  readonly take: (parts: Parts, text: string) => void;
  readonly write: (wall: Date, time: Time) => string;
}

const pieces: Readonly<Record<string, Piece>> = {
  January: name(
    months,
    99,
    (parts, index) => (parts.month = index + 1),
    (wall) => wall.getUTCMonth(),
  ),
  Jan: name(
    months,
    3,
    (parts, index) => (parts.month = index + 1),
    (wall) => wall.getUTCMonth(),
  ),
  Monday: name(
    days,
    99,
    () => 0,
    (wall) => wall.getUTCDay(),
  ),
  Mon: name(
    days,
    3,
    () => 0,
    (wall) => wall.getUTCDay(),
  ),
  MST: {
    reads: String.raw`(?:[A-Z]{3,4}|[+-]\d{2})`,
    take: takeZone,
    write: (_, time) => time.zone.abbreviation(time.unix),
  },
  "2006": digits("year", 4, (wall) => wall.getUTCFullYear()),
  "01": digits("month", 2, (wall) => wall.getUTCMonth() + 1),
  "02": digits("day", 2, (wall) => wall.getUTCDate()),
  "03": digits("hour", 2, (wall) => wall.getUTCHours() % 12 || 12),
  "04": digits("minute", 2, (wall) => wall.getUTCMinutes()),
  "05": digits("second", 2, (wall) => wall.getUTCSeconds()),
  "06": { reads: String.raw`\d{2}`, take: takeShortYear, write: (wall) => padded(wall.getUTCFullYear() % 100, 2) },
  "15": digits("hour", 2, (wall) => wall.getUTCHours()),
  _2: {
    ...digits("day", 1, (wall) => wall.getUTCDate()),
    write: (wall) => String(wall.getUTCDate()).padStart(2, " "),
    reads: " ?\\d{1,2}",
  },
  "1": digits("month", 1, (wall) => wall.getUTCMonth() + 1),
  "2": digits("day", 1, (wall) => wall.getUTCDate()),
  "3": digits("hour", 1, (wall) => wall.getUTCHours() % 12 || 12),
  "4": digits("minute", 1, (wall) => wall.getUTCMinutes()),
  "5": digits("second", 1, (wall) => wall.getUTCSeconds()),
  PM: half("AM", "PM"),
  pm: half("am", "pm"),
  "Z07:00": offset(":", true),
  "-07:00": offset(":", false),
  Z0700: offset("", true),
  "-0700": offset("", false),
};

const piece =
  /January|Jan|Monday|Mon|MST|2006|0[1-6]|15|_2|Z07:00|-07:00|Z0700|-0700|PM|pm|[.,](?:0+|9+)(?!\d)|[12345]/g;

function digits(
  field: "year" | "month" | "day" | "hour" | "minute" | "second",
  width: 1 | 2 | 4,
  read: (wall: Date) => number,
): Piece {
  return {
    reads: width === 1 ? String.raw`\d{1,2}` : String.raw`\d{${width}}`,
    take: (parts, text) => {
      parts[field] = Number(text);
    },
    write: (wall) => padded(read(wall), width),
  };
}

function name(
  names: readonly string[],
  length: number,
  set: (parts: Parts, index: number) => void,
  read: (wall: Date) => number,
): Piece {
  const short = names.map((long) => long.slice(0, length));
  return {
    reads: short.join("|"),
    take: (parts, text) => {
      set(
        parts,
        short.findIndex((known) => known.toLowerCase() === text.toLowerCase()),
      );
    },
    write: (wall) => short[read(wall)] ?? "",
  };
}

function half(morning: string, afternoon: string): Piece {
  return {
    reads: `${morning}|${afternoon}`,
    take: (parts, text) => {
      parts.afternoon = text.toLowerCase() === "pm";
    },
    write: (wall) => (wall.getUTCHours() < 12 ? morning : afternoon),
  };
}

function offset(colon: string, zulu: boolean): Piece {
  return {
    reads: String.raw`${zulu ? "Z|" : ""}[+-]\d{2}${colon}\d{2}`,
    take: (parts, text) => {
      const [hours, minutes] = [Number(text.slice(1, 3)), Number(text.slice(-2))];
      parts.offset = text === "Z" ? 0 : (text.startsWith("-") ? -1 : 1) * (hours * 3600 + minutes * 60);
    },
    write: (_, time) => {
      const seconds = time.zone.offset(time.unix);
      return zulu && seconds === 0 ? "Z" : offsetText(seconds, colon);
    },
  };
}

function takeZone(parts: Parts, text: string): void {
  parts.zone = text;
}

function takeShortYear(parts: Parts, text: string): void {
  parts.year = Number(text) + (Number(text) >= 69 ? 1900 : 2000);
}

function padded(value: number, width: number): string {
  return String(value).padStart(width, "0");
}

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

/** Reads a text by a layout; times that name no zone are in `zone`. Undefined where the text does not fit. */
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
    // Look ahead and refer back: what a piece has taken it never gives back, so that reading takes linear time.
    pattern += `(?=(${readPiece(key, layout.slice(end))}))\\${keys.length}`;
  }
  return { pattern: new RegExp(`^${pattern}${escaped(layout.slice(end))}$`, "i"), keys };
}

/** Seconds may have a fraction that the layout does not show. */
function readPiece(key: string, rest: string): string {
  if (key.startsWith(".") || key.startsWith(",")) {
    return key[1] === "9" ? String.raw`[.,]\d{1,9}|` : String.raw`[.,]\d{${key.length - 1}}`;
  }
  const reads = pieces[key]?.reads ?? "";
  const silent = (key === "05" || key === "5") && !/^[.,][09]/.test(rest);
  return silent ? String.raw`(?:${reads})(?:[.,]\d{1,9})?` : reads;
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
    afternoon: undefined,
    offset: undefined,
    zone: undefined,
  };
  found.forEach((key, index) => {
    const [whole = "", decimals] = (fields[index] ?? "").split(/[.,]/);
    if (decimals !== undefined) parts.nanosecond = Number(decimals.padEnd(9, "0"));
    if (whole !== "") pieces[key]?.take(parts, whole);
  });
  if (parts.afternoon !== undefined && parts.hour > 12) return undefined;
  if (parts.afternoon !== undefined) parts.hour = (parts.hour % 12) + (parts.afternoon ? 12 : 0);
  return isDate(parts) ? located(parts, zone) : undefined;
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
  // The offset at the moment itself: twice, because it may change between the first guess and the moment.
  const guess = local - zone.offset(local);
  return at(local - zone.offset(guess), zone);
}
