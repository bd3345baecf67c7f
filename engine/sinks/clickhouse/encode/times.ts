/** A point in time, exact to the nanosecond: `seconds` since the epoch, rounded down, and `nanos` 0..999999999 on top. */
export interface Instant {
  seconds: number;
  nanos: number;
}

/** What a text names. */
export interface Parsed extends Instant {
  isLocal: boolean;
}

/** From seconds since the epoch with a fraction: by the decimal digits of the number, not its binary value. */
export function fromSeconds(value: number): Instant | undefined {
  if (!Number.isFinite(value) || value < 0) return undefined;
  if (Number.isInteger(value)) return { seconds: value, nanos: 0 };
  const text = value < 1e-6 ? value.toFixed(9) : String(value);
  const [whole = "0", fraction = ""] = text.split(".");
  return { seconds: Number(whole), nanos: nanosOf(fraction) };
}

/** Nanoseconds of the digits after the point; digits beyond the ninth are cut. */
function nanosOf(fraction: string): number {
  return fraction === "" ? 0 : Number(fraction.slice(0, 9).padEnd(9, "0"));
}

/** ISO 8601 in UTC with `precision` digits of a fraction. */
export function isoText(instant: Instant, precision: number): string {
  return `${wallText(instant, precision)}Z`;
}

/** The same without its zone. */
export function wallText({ seconds, nanos }: Instant, precision: number): string {
  return secondText(seconds) + fractionText(nanos, precision);
}

/** A point and `precision` digits, further ones are cut; nothing for a precision of 0. */
function fractionText(nanos: number, precision: number): string {
  return precision === 0 ? "" : `.${String(nanos).padStart(9, "0").slice(0, precision)}`;
}

let remembered = { seconds: 0, text: "1970-01-01T00:00:00" };

/** `YYYY-MM-DDThh:mm:ss`. Events of one moment share their second, so the last text is kept. */
function secondText(seconds: number): string {
  if (remembered.seconds !== seconds) {
    remembered = { seconds, text: new Date(seconds * 1000).toISOString().slice(0, 19) };
  }
  return remembered.text;
}

/** `YYYY-MM-DD` of the day in UTC. */
export function dateText({ seconds }: Instant): string {
  return new Date(seconds * 1000).toISOString().slice(0, 10);
}

const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const month = `(?<month>${months.join("|")})`;
const day = "(?:mon|tue|wed|thu|fri|sat|sun)";
const longDay = "(?:mon|tues|wednes|thurs|fri|satur|sun)day";
const clock = String.raw`(?<h>\d{1,2}):(?<mi>\d{2}):(?<s>\d{2})(?:[.,](?<fraction>\d+))?`;
const shortClock = String.raw`(?<h>\d{1,2}):(?<mi>\d{2})`;
const abbreviation = "(?<zone>[a-z]{1,5})";
const numeric = String.raw`(?<offset>[+-]\d{4})`;

/**
 * The layouts of a text that feeds a date or time; no text fits two of them with two meanings. Of `03/04/2024` nobody
 * knows which number is the month, so no layout has it; with points the day comes first, where such dates are written.
 */
const layouts: readonly RegExp[] = [
  String.raw`(?<y>\d{4})-(?<m>\d{2})-(?<d>\d{2})T${clock}(?<offset>Z|[+-]\d{2}:\d{2})`,
  String.raw`(?<y>\d{4})-(?<m>\d{2})-(?<d>\d{2})[T ]${clock}`,
  String.raw`${day}, (?<d>\d{2}) ${month} (?<y>\d{4}) ${clock} ${abbreviation}`,
  String.raw`${day}, (?<d>\d{2}) ${month} (?<y>\d{4}) ${clock} ${numeric}`,
  String.raw`(?<d>\d{2}) ${month} (?<y>\d{2}) ${shortClock} ${abbreviation}`,
  String.raw`(?<d>\d{2}) ${month} (?<y>\d{2}) ${shortClock} ${numeric}`,
  String.raw`${longDay}, (?<d>\d{2})-${month}-(?<y>\d{2}) ${clock} ${abbreviation}`,
  String.raw`${day} ${month} +(?<d>\d{1,2}) ${clock} (?<y>\d{4})`,
  String.raw`(?<y>\d{4})-(?<m>\d{2})-(?<d>\d{2})`,
  String.raw`(?<d>\d{2})\.(?<m>\d{2})\.(?<y>\d{4})`,
  String.raw`(?<y>\d{4})/(?<m>\d{2})/(?<d>\d{2})`,
  String.raw`${month} (?<d>\d{1,2}), (?<y>\d{4})`,
  String.raw`(?<d>\d{1,2}) ${month} (?<y>\d{4})`,
  // As an expression prints a time: `now()` into a text.
  String.raw`(?<y>\d{4})-(?<m>\d{2})-(?<d>\d{2}) ${clock} ${numeric} (?:[a-z]{1,5}|[+-]\d{2,4})`,
  String.raw`(?<y>\d{4})/(?<m>\d{2})/(?<d>\d{2})[T ]${clock}(?<offset>Z|[+-]\d{2}:?\d{2})?`,
].map((source, index) => new RegExp(`^${source}$`, index < 2 ? "" : "i"));

/** Hours east of UTC of the zones in RFC 822. Other abbreviations are ambiguous. */
const zones: ReadonlyMap<string, number> = new Map([
  ...["UTC", "GMT", "UT", "Z"].map((name): [string, number] => [name, 0]),
  ...["PST", "MST", "CST", "EST"].map((name, index): [string, number] => [name, index - 8]),
  ...["PDT", "MDT", "CDT", "EDT"].map((name, index): [string, number] => [name, index - 7]),
]);

type Parts = Record<string, string | undefined>;

/** The longest text that any layout can match, with room for a long fraction. */
const longest = 80;

/**
 * The instant that a text names, or undefined if no layout fits it or the date does not exist. `isLocal`: it names no
 * zone, and the instant is that of UTC.
 */
export function parseTime(text: string): Parsed | undefined {
  const usual = parseUsual(text);
  if (usual !== undefined || text.length > longest) return usual;
  for (const layout of layouts) {
    const parts = layout.exec(text)?.groups;
    const instant = parts === undefined ? undefined : fromParts(parts);
    if (instant !== undefined) return instant;
  }
  return undefined;
}

const secondsLayout = /^(\d{9,10})(?:\.(\d{1,20}))?$/;

/**
 * Seconds since 1970 as a text, such as `1717243200.123`, from 1973 to 2286. Other numbers of digits are undefined:
 * ClickHouse reads `20240531` as a day or as seconds, by its settings.
 */
export function parseSeconds(text: string): Instant | undefined {
  const match = secondsLayout.exec(text);
  return match === null || match[1]?.startsWith("0")
    ? undefined
    : { seconds: Number(match[1]), nanos: nanosOf(match[2] ?? "") };
}

/** A date that begins with two numbers of which either may be the month. */
const unclearDay = /^\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}(?!\d)/;

/** Whether a text begins with a date whose month nobody can tell, such as `05/06/2024`. */
export function hasUnclearDay(text: string): boolean {
  return unclearDay.test(text);
}

const usualLayout = /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(Z?)$/;

/** The first two layouts in UTC or without a zone, which nearly all events use, without the cost of named groups. */
function parseUsual(text: string): Parsed | undefined {
  const match = usualLayout.exec(text);
  if (match === null) return undefined;
  const [y, m, d] = [Number(match[1]), Number(match[2]), Number(match[3])];
  const [h, mi, s] = [Number(match[4]), Number(match[5]), Number(match[6])];
  const midnight = Date.UTC(y, m - 1, d);
  if (y < 1000 || m < 1 || m > 12 || d < 1 || new Date(midnight).getUTCDate() !== d) return undefined;
  if (h > 23 || mi > 59 || s > 59) return undefined;
  const seconds = midnight / 1000 + h * 3600 + mi * 60 + s;
  return { seconds, nanos: nanosOf(match[7] ?? ""), isLocal: match[8] === "" };
}

function fromParts(parts: Parts): Parsed | undefined {
  const offset = offsetSeconds(parts);
  const date = dateSeconds(parts);
  const [h, mi, s] = [Number(parts["h"] ?? 0), Number(parts["mi"] ?? 0), Number(parts["s"] ?? 0)];
  if (offset === undefined || date === undefined || h > 23 || mi > 59 || s > 59) return undefined;
  const isLocal = parts["offset"] === undefined && parts["zone"] === undefined;
  return { seconds: date + h * 3600 + mi * 60 + s - offset, nanos: nanosOf(parts["fraction"] ?? ""), isLocal };
}

/** Midnight of the date, which must exist: ClickHouse would read 30 February as 1 March. */
function dateSeconds(parts: Parts): number | undefined {
  const y = fullYear(parts["y"] ?? "");
  const m = parts["month"] === undefined ? Number(parts["m"]) : months.indexOf(parts["month"].toLowerCase()) + 1;
  const d = Number(parts["d"]);
  const midnight = new Date(0);
  midnight.setUTCFullYear(y, m - 1, d);
  return midnight.getUTCMonth() === m - 1 && midnight.getUTCDate() === d ? midnight.getTime() / 1000 : undefined;
}

/** Two digits from 69 on mean 19xx, others 20xx. */
function fullYear(text: string): number {
  const year = Number(text);
  if (text.length === 4) return year;
  return year >= 69 ? 1900 + year : 2000 + year;
}

function offsetSeconds(parts: Parts): number | undefined {
  const { offset, zone } = parts;
  if (zone !== undefined) {
    const hours = zones.get(zone.toUpperCase());
    return hours === undefined ? undefined : hours * 3600;
  }
  if (offset === undefined || offset === "Z") return 0;
  const [hours, minutes] = [Number(offset.slice(1, 3)), Number(offset.slice(-2))];
  if (hours > 24 || minutes > 59) return undefined;
  return (offset.startsWith("-") ? -1 : 1) * (hours * 3600 + minutes * 60);
}

/** A time of a clock, or a span of time: whole seconds and nanoseconds on either side of 0. */
export interface Clock {
  isNegative: boolean;
  seconds: number;
  nanos: number;
}

/** 999:59:59, the last second that ClickHouse's Time holds: it cuts what is beyond. */
const lastSecond = 3_599_999;

/** `12:30` alone is refused: ClickHouse reads it as minutes and seconds, and senders mean hours. */
const clockLayout = /^(-?)(\d{1,3}):([0-5]\d):([0-5]\d)(?:\.(\d{1,9}))?$/;
const secondsText = /^-?\d{1,7}(?:\.\d{1,9})?$/;

/** A text such as `12:30:45.5`, or seconds as a number or its text; undefined for any other and beyond 999:59:59. */
export function parseClock(value: string | number): Clock | undefined {
  const [found, sign = "", hours, minutes, seconds, fraction = ""] = clockLayout.exec(String(value)) ?? [];
  if (found !== undefined) {
    const whole = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
    return { isNegative: sign !== "", seconds: whole, nanos: nanosOf(fraction) };
  }
  if (typeof value === "string" && !secondsText.test(value)) return undefined;
  const number = Number(value);
  const size = fromSeconds(Math.abs(number));
  return size === undefined || size.seconds > lastSecond ? undefined : { isNegative: number < 0, ...size };
}

/** `HH:MM:SS` with `precision` digits of a fraction; further ones are cut. */
export function clockText({ isNegative, seconds, nanos }: Clock, precision: number): string {
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const text = parts.map((part) => String(part).padStart(2, "0")).join(":");
  return `${isNegative ? "-" : ""}${text}${fractionText(nanos, precision)}`;
}
