const zones = new Map<string, Timezone>();
const MOST_ZONES = 256;

/** A time zone of the IANA data base, or a fixed offset from UTC. */
export class Timezone {
  readonly name: string;
  readonly #format: Intl.DateTimeFormat | undefined;
  readonly #fixed: number;
  #labels: readonly Intl.DateTimeFormat[] | undefined;

  private constructor(name: string, format: Intl.DateTimeFormat | undefined, fixed: number) {
    this.name = name;
    this.#format = format;
    this.#fixed = fixed;
  }

  static readonly utc = new Timezone("UTC", undefined, 0);

  /** A zone `seconds` east of UTC; an empty name prints as the offset. */
  static fixed(seconds: number, name = ""): Timezone {
    return new Timezone(name, undefined, seconds);
  }

  /** The zone of an IANA name; undefined if there is none. Zones are costly to make, so the last ones are kept. */
  static named(name: string): Timezone | undefined {
    if (name === "" || name === "UTC") return Timezone.utc;
    const known = zones.get(name);
    // Intl knows offsets such as "+01:00" as well, which are not names.
    if (known !== undefined || !/^[A-Za-z]/.test(name)) return known;
    try {
      const made = new Timezone(name, formatOf(name), 0);
      if (zones.size >= MOST_ZONES) zones.delete(zones.keys().next().value ?? "");
      zones.set(name, made);
      return made;
    } catch {
      return undefined;
    }
  }

  /** Seconds east of UTC at a moment, in seconds since the epoch. */
  offset(seconds: number): number {
    if (this.#format === undefined) return this.#fixed;
    const parts = new Map(this.#format.formatToParts(seconds * 1000).map(({ type, value }) => [type, value]));
    const read = (type: Intl.DateTimeFormatPartTypes): number => Number(parts.get(type));
    const year = parts.get("era") === "BC" ? 1 - read("year") : read("year");
    const local = civil(year, read("month"), read("day")) + read("hour") * 3600 + read("minute") * 60 + read("second");
    return local - Math.floor(seconds);
  }

  /** Name of the zone at a moment, such as `CET`, or its offset where none is known. */
  abbreviation(seconds: number): string {
    if (this.#format === undefined) return this.name === "" ? offsetText(this.#fixed) : this.name;
    this.#labels ??= ["en-US", "en-GB"].map((locale) => labelsOf(locale, this.name));
    const labels = this.#labels.map((label) => label.formatToParts(seconds * 1000));
    const short = labels.map((parts) => parts.find(({ type }) => type === "timeZoneName")?.value ?? "");
    return short.find((label) => /^[A-Z]+$/.test(label)) ?? offsetText(this.offset(seconds));
  }
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const digits = "numeric" as const;
  const time = { hour: digits, minute: digits, second: digits, hourCycle: "h23" } as const;
  return new Intl.DateTimeFormat("en-US", {
    timeZone,
    year: digits,
    month: digits,
    day: digits,
    era: "short",
    ...time,
  });
}

function labelsOf(locale: string, timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat(locale, { timeZone, timeZoneName: "short" });
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}

/** `+0100` */
export function offsetText(seconds: number, colon = ""): string {
  const minutes = Math.trunc(Math.abs(seconds) / 60);
  return `${seconds < 0 ? "-" : "+"}${two(Math.trunc(minutes / 60))}${colon}${two(minutes % 60)}`;
}

/** Seconds since the epoch of midnight of a day of the Gregorian calendar. `Date.UTC` reads years below 100 as 19xx. */
export function civil(year: number, month: number, day: number): number {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getTime() / 1000;
}
