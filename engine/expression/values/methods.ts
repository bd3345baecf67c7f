import type { Fail } from "./arithmetic.ts";
import { days, months } from "./layout-pieces.ts";
import { formatTime, timeText } from "./layouts.ts";
import { Duration, Time } from "./time.ts";
import { int, kindOf } from "./values.ts";
import { Timezone } from "./zones.ts";

/** The parameter of a method besides its object. */
type Argument = "time" | "duration" | "timezone" | "string";

interface Method<T> {
  readonly takes?: Argument;
  readonly run: (object: T, argument: unknown) => unknown;
}

export const timeMethods: ReadonlyMap<string, Method<Time>> = new Map<string, Method<Time>>([
  ["Year", { run: ({ wall }) => int(wall.getUTCFullYear()) }],
  ["Month", { run: ({ wall }) => months[wall.getUTCMonth()] }],
  ["Day", { run: ({ wall }) => int(wall.getUTCDate()) }],
  ["Hour", { run: ({ wall }) => int(wall.getUTCHours()) }],
  ["Minute", { run: ({ wall }) => int(wall.getUTCMinutes()) }],
  ["Second", { run: ({ wall }) => int(wall.getUTCSeconds()) }],
  ["Nanosecond", { run: ({ fraction }) => int(fraction) }],
  ["Weekday", { run: ({ wall }) => days[wall.getUTCDay()] }],
  ["YearDay", { run: ({ wall }) => int(yearDay(wall)) }],
  ["Unix", { run: ({ unix }) => int(unix) }],
  ["UnixMilli", { run: ({ nanoseconds }) => floored(nanoseconds, 1_000_000n) }],
  ["UnixMicro", { run: ({ nanoseconds }) => floored(nanoseconds, 1_000n) }],
  ["UnixNano", { run: ({ nanoseconds }) => BigInt.asIntN(64, nanoseconds) }],
  ["UTC", { run: ({ nanoseconds }) => new Time(nanoseconds) }],
  ["String", { run: timeText }],
  ["Format", { takes: "string", run: (time, layout) => formatTime(time, layout as string) }],
  ["In", { takes: "timezone", run: ({ nanoseconds }, zone) => new Time(nanoseconds, zone as Timezone) }],
  ["Add", { takes: "duration", run: (time, span) => moved(time, span as Duration) }],
  ["Sub", { takes: "time", run: (time, other) => new Duration(time.nanoseconds - (other as Time).nanoseconds) }],
  ["Before", { takes: "time", run: (time, other) => time.nanoseconds < (other as Time).nanoseconds }],
  ["After", { takes: "time", run: (time, other) => time.nanoseconds > (other as Time).nanoseconds }],
  ["Equal", { takes: "time", run: (time, other) => time.nanoseconds === (other as Time).nanoseconds }],
]);

export const durationMethods: ReadonlyMap<string, Method<Duration>> = new Map<string, Method<Duration>>([
  ["Hours", { run: ({ seconds }) => seconds / 3600 }],
  ["Minutes", { run: ({ seconds }) => seconds / 60 }],
  ["Seconds", { run: ({ seconds }) => seconds }],
  ["Milliseconds", { run: ({ nanoseconds }) => nanoseconds / 1_000_000n }],
  ["Microseconds", { run: ({ nanoseconds }) => nanoseconds / 1_000n }],
  ["Nanoseconds", { run: ({ nanoseconds }) => nanoseconds }],
  ["String", { run: (span) => span.toString() }],
]);

/** Whether values of a kind have a method of this name. */
export function hasMethod(kind: string, name: string): boolean {
  return (kind === "time" && timeMethods.has(name)) || (kind === "duration" && durationMethods.has(name));
}

/** `object.name(args)`: only times and durations have methods. */
export function method(object: unknown, name: string, args: readonly unknown[], fail: Fail): unknown {
  if (object instanceof Time) return call(timeMethods.get(name), object, name, args, fail);
  if (object instanceof Duration) return call(durationMethods.get(name), object, name, args, fail);
  return fail(`${kindOf(object)} has no method ${name}`);
}

function call<T>(found: Method<T> | undefined, object: T, name: string, args: readonly unknown[], fail: Fail): unknown {
  if (found === undefined) return fail(`${kindOf(object)} has no method ${name}`);
  const count = found.takes === undefined ? 0 : 1;
  if (args.length !== count) return fail(`${name} takes ${count} arguments, found ${args.length}`);
  const [argument] = args;
  if (found.takes !== undefined && kindOf(argument) !== found.takes) {
    return fail(`${name} expects a ${found.takes}, found ${kindOf(argument)}`);
  }
  return found.run(object, argument);
}

function moved(time: Time, span: Duration): Time {
  return new Time(time.nanoseconds + span.nanoseconds, time.zone);
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
