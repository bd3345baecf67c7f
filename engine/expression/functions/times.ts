import type { Call, FunctionDefinition } from "./catalog.ts";
import { parseTime } from "../values/layouts.ts";
import { Duration, Time } from "../values/time.ts";
import { duration, time, zone } from "../values/types.ts";
import { kindOf } from "../values/values.ts";
import { Timezone } from "../values/zones.ts";
import { parseDuration as parseConfigDuration } from "../../../schemas/duration.ts";
import type { Fail } from "../values/arithmetic.ts";

/** The layouts that `date` tries in this order when it is given none. */
const layouts = [
  "2006-01-02",
  "15:04:05",
  "2006-01-02 15:04:05",
  "2006-01-02T15:04:05Z07:00",
  "02 Jan 06 15:04 MST",
  "Monday, 02-Jan-06 15:04:05 MST",
  "Mon, 02 Jan 2006 15:04:05 MST",
];

const LONGEST_LAYOUT = 200;

function named(name: unknown, { fail }: Call): Timezone {
  return (
    Timezone.named(name as string) ?? fail("expected the name of a time zone such as Europe/Berlin, found another text")
  );
}

/** `date(text, layout?, zone?)`, or `date(zone, text, layout?)`. */
function date(call: Call, ...args: unknown[]): unknown {
  const [first] = args;
  const given = first instanceof Timezone ? first : undefined;
  const [source, layout, name] = given === undefined ? args : args.slice(1);
  for (const value of [source, layout ?? "", name ?? ""]) {
    if (typeof value !== "string") return call.fail(`date expects texts, found ${kindOf(value)}`);
  }
  if (typeof layout === "string" && layout.length > LONGEST_LAYOUT)
    return call.fail("the layout is too long for a date");
  call.budget.read((source as string).length);
  const where = name === undefined ? given : named(name, call);
  const tried = layout === undefined ? layouts : [layout as string];
  for (const candidate of tried) {
    const found = parseTime(source as string, candidate, where);
    if (found !== undefined) return found;
  }
  return call.fail(
    layout === undefined ? "date does not know the format of the text" : "the text does not fit the layout",
  );
}

/** The functions of times. `now` is the time of the batch. */
export const timeFunctions: Readonly<Record<string, FunctionDefinition>> = {
  now: {
    takes: ["zone"],
    optional: 1,
    gives: time,
    run: ({ clock }, where) => {
      const now = Time.fromMilliseconds(clock());
      return where === undefined ? now : new Time(now.nanoseconds, where as Timezone);
    },
  },
  date: { takes: ["any", "any", "any"], optional: 2, gives: time, run: date },
  duration: { takes: ["string"], gives: duration, run: ({ fail }, value) => parseDuration(value as string, fail) },
  timezone: { takes: ["string"], gives: zone, run: (call, name) => named(name, call) },
};

/** Characters of the longest duration. */
const longestDuration = 64;

/**
 * `1h30m`, `1.5s`, `-2ms`: durations as pipeline files write them, but without days, whose length depends on the zone.
 */
function parseDuration(text: string, fail: Fail): Duration {
  if (text.length > longestDuration)
    return fail("expected a duration such as 1h30m, found a text that is too long for one");
  const nanoseconds = text.includes("d") ? undefined : parseConfigDuration(text);
  if (nanoseconds !== undefined) return new Duration(nanoseconds);
  return fail("expected a duration such as 1h30m or 250ms (units: ns us ms s m h), found another text");
}
