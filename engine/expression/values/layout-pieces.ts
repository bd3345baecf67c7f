import type { Time } from "./time.ts";

export const months = "January February March April May June July August September October November December".split(
  " ",
);
export const days = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(" ");

/** The parts of a date that are read. Parts that the layout does not have keep these values. */
export interface Parts {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
  nanosecond: number;
  /** From 1; where the layout has it, it decides the month and the day. */
  yearDay: number | undefined;
  afternoon: boolean | undefined;
  /** Seconds east of UTC. */
  offset: number | undefined;
  zone: string | undefined;
}

/**
 * A layout is the reference time, Mon Jan 2 15:04:05 MST 2006, in the wanted format. Each piece has the pattern that
 * reads it, a function that sets the parts, and one that writes it. The first piece that fits the layout counts.
 */
interface Piece {
  readonly reads: string;
  readonly take: (parts: Parts, text: string) => void;
  readonly write: (wall: Date, time: Time) => string;
}

export const pieces: Readonly<Record<string, Piece>> = {
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
  "002": {
    reads: String.raw`\d{3}`,
    take: takeYearDay,
    write: (wall) => padded(yearDayOf(wall), 3),
  },
  __2: {
    reads: " {0,2}\\d{1,3}",
    take: takeYearDay,
    write: (wall) => String(yearDayOf(wall)).padStart(3, " "),
  },
  "1": digits("month", 1, (wall) => wall.getUTCMonth() + 1),
  "2": digits("day", 1, (wall) => wall.getUTCDate()),
  "3": digits("hour", 1, (wall) => wall.getUTCHours() % 12 || 12),
  "4": digits("minute", 1, (wall) => wall.getUTCMinutes()),
  "5": digits("second", 1, (wall) => wall.getUTCSeconds()),
  PM: half("AM", "PM"),
  pm: half("am", "pm"),
  ...offsets("Z", true),
  ...offsets("-", false),
};

/** A longer piece stands before each that it begins with. */
export const piece =
  /January|Jan|Monday|Mon|MST|2006|002|0[1-6]|15|__2|_2(?!006)|[Z-]07(?::00:00|:00|0000|00)?|PM|pm|[.,](?:0+|9+)(?!\d)|[12345]/g;

/** The offset from UTC in hours, minutes and seconds, with and without colons. */
function offsets(sign: "Z" | "-", zulu: boolean): Record<string, Piece> {
  return {
    [`${sign}07:00:00`]: offset(3, ":", zulu),
    [`${sign}070000`]: offset(3, "", zulu),
    [`${sign}07:00`]: offset(2, ":", zulu),
    [`${sign}0700`]: offset(2, "", zulu),
    [`${sign}07`]: offset(1, "", zulu),
  };
}

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
    reads: short.map(inAnyCase).join("|"),
    take: (parts, text) => {
      set(
        parts,
        short.findIndex((known) => known.toLowerCase() === text.toLowerCase()),
      );
    },
    write: (wall) => short[read(wall)] ?? "",
  };
}

/** A pattern for a word in any case: names are read so, and nothing else is. */
function inAnyCase(word: string): string {
  return word.replaceAll(/[a-z]/gi, (letter) => `[${letter.toUpperCase()}${letter.toLowerCase()}]`);
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

/** `parts`: hours; hours and minutes; or seconds too. */
function offset(parts: 1 | 2 | 3, colon: string, zulu: boolean): Piece {
  const reads = Array.from({ length: parts }, () => String.raw`\d{2}`).join(colon);
  return {
    reads: String.raw`${zulu ? "Z|" : ""}[+-]${reads}`,
    take: (read, text) => {
      const [hours = 0, minutes = 0, seconds = 0] = (text.match(/\d{2}/g) ?? []).map(Number);
      read.offset = (text.startsWith("-") ? -1 : 1) * (hours * 3600 + minutes * 60 + seconds);
    },
    write: (_, time) => {
      const seconds = time.zone.offset(time.unix);
      if (zulu && seconds === 0) return "Z";
      const size = Math.abs(seconds);
      const all = [Math.trunc(size / 3600), Math.trunc(size / 60) % 60, size % 60].slice(0, parts);
      return (seconds < 0 ? "-" : "+") + all.map((part) => padded(part, 2)).join(colon);
    },
  };
}

function takeYearDay(parts: Parts, text: string): void {
  parts.yearDay = Number(text);
}

/** The day of the year, from 1. */
function yearDayOf(wall: Date): number {
  const first = Date.UTC(2000, 0, 1);
  const begin = new Date(first);
  begin.setUTCFullYear(wall.getUTCFullYear());
  return Math.floor((wall.getTime() - begin.getTime()) / 86_400_000) + 1;
}

function takeZone(parts: Parts, text: string): void {
  parts.zone = text;
}

function takeShortYear(parts: Parts, text: string): void {
  parts.year = Number(text) + (Number(text) >= 69 ? 1900 : 2000);
}

export function padded(value: number, width: number): string {
  return (value < 0 ? "-" : "") + String(Math.abs(value)).padStart(width, "0");
}
