import type { Fail } from "./arithmetic.ts";
import { days, months } from "./layout-pieces.ts";
import { formatTime, inZone, timeText } from "./layouts.ts";
import { Named } from "./named.ts";
import { Duration, Time } from "./time.ts";
import * as types from "./types.ts";
import { int, kindOf, type Kind } from "./values.ts";
import { civil, Timezone } from "./zones.ts";

/** The parameter of a method besides its object. */
type Argument = "time" | "duration" | "timezone" | "string" | "int";

interface Method<T> {
  readonly gives: types.Type;
  readonly takes?: readonly Argument[];
  readonly run: (object: T, ...args: never[]) => unknown;
}

type Methods<T> = ReadonlyMap<string, Method<T>>;

export const timeMethods: Methods<Time> = new Map<string, Method<Time>>([
  ["Year", { gives: types.integer, run: ({ wall }) => int(wall.getUTCFullYear()) }],
  ["Month", { gives: types.month, run: ({ wall }) => month(wall.getUTCMonth()) }],
  ["Day", { gives: types.integer, run: ({ wall }) => int(wall.getUTCDate()) }],
  ["Hour", { gives: types.integer, run: ({ wall }) => int(wall.getUTCHours()) }],
  ["Minute", { gives: types.integer, run: ({ wall }) => int(wall.getUTCMinutes()) }],
  ["Second", { gives: types.integer, run: ({ wall }) => int(wall.getUTCSeconds()) }],
  ["Nanosecond", { gives: types.integer, run: ({ fraction }) => int(fraction) }],
  ["Weekday", { gives: types.weekday, run: ({ wall }) => weekday(wall.getUTCDay()) }],
  ["YearDay", { gives: types.integer, run: ({ wall }) => int(yearDay(wall)) }],
  ["Unix", { gives: types.integer, run: ({ unix }) => int(unix) }],
  ["UnixMilli", { gives: types.integer, run: ({ nanoseconds }) => floored(nanoseconds, 1_000_000n) }],
  ["UnixMicro", { gives: types.integer, run: ({ nanoseconds }) => floored(nanoseconds, 1_000n) }],
  ["UnixNano", { gives: types.integer, run: ({ nanoseconds }) => BigInt.asIntN(64, nanoseconds) }],
  ["UTC", { gives: types.time, run: ({ nanoseconds }) => new Time(nanoseconds) }],
  // The zone of the process, which is the same everywhere.
  ["Local", { gives: types.time, run: ({ nanoseconds }) => new Time(nanoseconds) }],
  ["Location", { gives: types.zone, run: ({ zone }) => zone }],
  ["IsZero", { gives: types.bool, run: ({ nanoseconds }) => nanoseconds === zeroTime }],
  ["String", { gives: types.text, run: timeText }],
  ["Format", { gives: types.text, takes: ["string"], run: (time, layout: string) => formatTime(time, layout) }],
  [
    "In",
    { gives: types.time, takes: ["timezone"], run: ({ nanoseconds }, zone: Timezone) => new Time(nanoseconds, zone) },
  ],
  ["Add", { gives: types.time, takes: ["duration"], run: (time, span: Duration) => moved(time, span.nanoseconds) }],
  ["AddDate", { gives: types.time, takes: ["int", "int", "int"], run: addDate }],
  [
    "Sub",
    {
      gives: types.duration,
      takes: ["time"],
      run: (time, other: Time) => new Duration(time.nanoseconds - other.nanoseconds),
    },
  ],
  [
    "Truncate",
    { gives: types.time, takes: ["duration"], run: (time, unit: Duration) => moved(time, -remainderOf(time, unit)) },
  ],
  ["Round", { gives: types.time, takes: ["duration"], run: roundTime }],
  ["Before", { gives: types.bool, takes: ["time"], run: (time, other: Time) => time.nanoseconds < other.nanoseconds }],
  ["After", { gives: types.bool, takes: ["time"], run: (time, other: Time) => time.nanoseconds > other.nanoseconds }],
  ["Equal", { gives: types.bool, takes: ["time"], run: (time, other: Time) => time.nanoseconds === other.nanoseconds }],
  [
    "Compare",
    {
      gives: types.integer,
      takes: ["time"],
      run: (time, other: Time) => compared(time.nanoseconds, other.nanoseconds),
    },
  ],
]);

export const durationMethods: Methods<Duration> = new Map<string, Method<Duration>>([
  ["Hours", { gives: types.float, run: ({ seconds }) => seconds / 3600 }],
  ["Minutes", { gives: types.float, run: ({ seconds }) => seconds / 60 }],
  ["Seconds", { gives: types.float, run: ({ seconds }) => seconds }],
  ["Milliseconds", { gives: types.integer, run: ({ nanoseconds }) => nanoseconds / 1_000_000n }],
  ["Microseconds", { gives: types.integer, run: ({ nanoseconds }) => nanoseconds / 1_000n }],
  ["Nanoseconds", { gives: types.integer, run: ({ nanoseconds }) => nanoseconds }],
  ["Abs", { gives: types.duration, run: ({ nanoseconds }) => new Duration(absolute(nanoseconds)) }],
  ["Truncate", { gives: types.duration, takes: ["duration"], run: truncateDuration }],
  ["Round", { gives: types.duration, takes: ["duration"], run: roundDuration }],
  ["String", { gives: types.text, run: (span) => span.toString() }],
]);

/** Methods of months, weekdays and time zones. */
export const nameMethods: Methods<Named | Timezone> = new Map<string, Method<Named | Timezone>>([
  ["String", { gives: types.text, run: ({ name }) => name }],
]);

const byKind: Readonly<Partial<Record<Kind, ReadonlyMap<string, Method<never>>>>> = {
  time: timeMethods,
  duration: durationMethods,
  month: nameMethods,
  weekday: nameMethods,
  timezone: nameMethods,
};

/** What the method of this name gives of a value of a kind; undefined where there is none. */
export function methodGives(kind: string, name: string): types.Type | undefined {
  return byKind[kind as Kind]?.get(name)?.gives;
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
