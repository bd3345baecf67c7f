import type { Fail } from "./arithmetic.ts";
import { days, months } from "./layout-pieces.ts";
import { formatTime, inZone, timeText } from "./layouts.ts";
import { Named } from "./named.ts";
import { Duration, Time } from "./time.ts";
import { int, kindOf, type Kind } from "./values.ts";
import { civil, Timezone } from "./zones.ts";

/** The parameter of a method besides its object. */
type Argument = "time" | "duration" | "timezone" | "string" | "int";

interface Method<T> {
  readonly takes?: readonly Argument[];
  readonly run: (object: T, ...args: never[]) => unknown;
}

type Methods<T> = ReadonlyMap<string, Method<T>>;

export const timeMethods: Methods<Time> = new Map<string, Method<Time>>([
  ["Year", { run: ({ wall }) => int(wall.getUTCFullYear()) }],
  ["Month", { run: ({ wall }) => month(wall.getUTCMonth()) }],
  ["Day", { run: ({ wall }) => int(wall.getUTCDate()) }],
  ["Hour", { run: ({ wall }) => int(wall.getUTCHours()) }],
  ["Minute", { run: ({ wall }) => int(wall.getUTCMinutes()) }],
  ["Second", { run: ({ wall }) => int(wall.getUTCSeconds()) }],
  ["Nanosecond", { run: ({ fraction }) => int(fraction) }],
  ["Weekday", { run: ({ wall }) => weekday(wall.getUTCDay()) }],
  ["YearDay", { run: ({ wall }) => int(yearDay(wall)) }],
  ["Unix", { run: ({ unix }) => int(unix) }],
  ["UnixMilli", { run: ({ nanoseconds }) => floored(nanoseconds, 1_000_000n) }],
  ["UnixMicro", { run: ({ nanoseconds }) => floored(nanoseconds, 1_000n) }],
  ["UnixNano", { run: ({ nanoseconds }) => BigInt.asIntN(64, nanoseconds) }],
  ["UTC", { run: ({ nanoseconds }) => new Time(nanoseconds) }],
  // The zone of the process, which is the same everywhere.
  ["Local", { run: ({ nanoseconds }) => new Time(nanoseconds) }],
  ["Location", { run: ({ zone }) => zone }],
  ["IsZero", { run: ({ nanoseconds }) => nanoseconds === zeroTime }],
  ["String", { run: timeText }],
  ["Format", { takes: ["string"], run: (time, layout: string) => formatTime(time, layout) }],
  ["In", { takes: ["timezone"], run: ({ nanoseconds }, zone: Timezone) => new Time(nanoseconds, zone) }],
  ["Add", { takes: ["duration"], run: (time, span: Duration) => moved(time, span.nanoseconds) }],
  ["AddDate", { takes: ["int", "int", "int"], run: addDate }],
  ["Sub", { takes: ["time"], run: (time, other: Time) => new Duration(time.nanoseconds - other.nanoseconds) }],
  ["Truncate", { takes: ["duration"], run: (time, unit: Duration) => moved(time, -remainderOf(time, unit)) }],
  ["Round", { takes: ["duration"], run: roundTime }],
  ["Before", { takes: ["time"], run: (time, other: Time) => time.nanoseconds < other.nanoseconds }],
  ["After", { takes: ["time"], run: (time, other: Time) => time.nanoseconds > other.nanoseconds }],
  ["Equal", { takes: ["time"], run: (time, other: Time) => time.nanoseconds === other.nanoseconds }],
  ["Compare", { takes: ["time"], run: (time, other: Time) => compared(time.nanoseconds, other.nanoseconds) }],
]);

export const durationMethods: Methods<Duration> = new Map<string, Method<Duration>>([
  ["Hours", { run: ({ seconds }) => seconds / 3600 }],
  ["Minutes", { run: ({ seconds }) => seconds / 60 }],
  ["Seconds", { run: ({ seconds }) => seconds }],
  ["Milliseconds", { run: ({ nanoseconds }) => nanoseconds / 1_000_000n }],
  ["Microseconds", { run: ({ nanoseconds }) => nanoseconds / 1_000n }],
  ["Nanoseconds", { run: ({ nanoseconds }) => nanoseconds }],
  ["Abs", { run: ({ nanoseconds }) => new Duration(absolute(nanoseconds)) }],
  ["Truncate", { takes: ["duration"], run: truncateDuration }],
  ["Round", { takes: ["duration"], run: roundDuration }],
  ["String", { run: (span) => span.toString() }],
]);

/** Methods of months, weekdays and time zones. */
export const nameMethods: Methods<Named | Timezone> = new Map<string, Method<Named | Timezone>>([
  ["String", { run: ({ name }) => name }],
]);

const byKind: Readonly<Partial<Record<Kind, ReadonlyMap<string, Method<never>>>>> = {
  time: timeMethods,
  duration: durationMethods,
  month: nameMethods,
  weekday: nameMethods,
  timezone: nameMethods,
};

/** Whether values of a kind have a method of this name. */
export function hasMethod(kind: string, name: string): boolean {
  return byKind[kind as Kind]?.has(name) === true;
}

/** `object.name(args)`: times, durations, time zones, months and weekdays have methods. */
export function method(object: unknown, name: string, args: readonly unknown[], fail: Fail): unknown {
  const found = byKind[kindOf(object)]?.get(name);
  if (found === undefined) return fail(`${kindOf(object)} has no method ${name}`);
  const { takes = [], run } = found;
  if (args.length !== takes.length) return fail(`${name} takes ${counted(takes.length)}, found ${args.length}`);
  takes.forEach((wanted, index) => {
    const given = kindOf(args[index]);
    if (given !== wanted) fail(`${name} expects a value of kind ${wanted}, found ${given}`);
  });
  const result = run(object as never, ...(args as never[]));
  return result === undefined ? fail(`${name}: the time lies outside of the calendar`) : result;
}

function counted(count: number): string {
  return count === 1 ? "1 argument" : `${count} arguments`;
}

function month(index: number): Named {
  return new Named("month", index + 1, months[index] ?? "");
}

function weekday(index: number): Named {
  return new Named("weekday", index, days[index] ?? "");
}

/** January 1 of the year 1, from which times are rounded, in nanoseconds since the epoch. */
const zeroTime = -62_135_596_800n * 1_000_000_000n;

/** The last day that a `Date` can hold but one, as a zone may be a day ahead, in seconds since the epoch. */
const lastDay = 8_640_000_000_000 - 2 * 86_400;

function moved(time: Time, nanoseconds: bigint): Time {
  return new Time(time.nanoseconds + nanoseconds, time.zone);
}

/** Years, months and days are added to the local date; a day that its month lacks runs over into the next one. */
function addDate(time: Time, years: bigint, monthsMore: bigint, daysMore: bigint): Time | undefined {
  const { wall, zone, fraction } = time;
  const day = civil(
    wall.getUTCFullYear() + Number(years),
    wall.getUTCMonth() + 1 + Number(monthsMore),
    wall.getUTCDate() + Number(daysMore),
  );
  if (!(Math.abs(day) <= lastDay)) return undefined;
  const ofDay = wall.getUTCHours() * 3600 + wall.getUTCMinutes() * 60 + wall.getUTCSeconds();
  return inZone(day + ofDay, fraction, zone);
}

/** What is left of a time by units that are counted from the zero time; 0 for a unit that is not positive. */
function remainderOf({ nanoseconds }: Time, { nanoseconds: unit }: Duration): bigint {
  if (unit <= 0n) return 0n;
  const left = (nanoseconds - zeroTime) % unit;
  return left < 0n ? left + unit : left;
}

/** Half a unit rounds up. */
function roundTime(time: Time, unit: Duration): Time {
  const left = remainderOf(time, unit);
  return moved(time, left * 2n < unit.nanoseconds || left === 0n ? -left : unit.nanoseconds - left);
}

/** Toward zero. */
function truncateDuration({ nanoseconds }: Duration, { nanoseconds: unit }: Duration): Duration {
  return new Duration(unit <= 0n ? nanoseconds : nanoseconds - (nanoseconds % unit));
}

/** Half a unit rounds away from zero. */
function roundDuration({ nanoseconds }: Duration, { nanoseconds: unit }: Duration): Duration {
  if (unit <= 0n) return new Duration(nanoseconds);
  const left = nanoseconds % unit;
  const size = absolute(left);
  const up = size * 2n < unit ? -left : nanoseconds < 0n ? -(unit - size) : unit - size;
  return new Duration(nanoseconds + up);
}

function absolute(value: bigint): bigint {
  return value < 0n ? -value : value;
}

function compared(a: bigint, b: bigint): bigint {
  return a < b ? -1n : a > b ? 1n : 0n;
}

function floored(value: bigint, unit: bigint): bigint {
  const whole = value / unit;
  return value % unit < 0n ? whole - 1n : whole;
}

function yearDay(wall: Date): number {
  const first = new Date(wall);
  first.setUTCMonth(0, 1);
  return Math.round((wall.getTime() - first.getTime()) / 86_400_000) + 1;
}
