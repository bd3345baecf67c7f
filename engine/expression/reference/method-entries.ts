import type { Entries } from "./entry.ts";

/** Methods of times. */
export const timeMethodEntries: Entries = {
  Year: [".Year()", "The year.", "date(ts).Year()"],
  Month: [".Month()", "The name of the month.", "date(ts).Month()"],
  Day: [".Day()", "The day of the month.", "date(ts).Day()"],
  Hour: [".Hour()", "The hour.", "date(ts).Hour()"],
  Minute: [".Minute()", "The minute.", "date(ts).Minute()"],
  Second: [".Second()", "The second.", "date(ts).Second()"],
  Nanosecond: [".Nanosecond()", "The nanoseconds within the second.", "date(ts).Nanosecond()"],
  Weekday: [".Weekday()", "The name of the day.", "date(ts).Weekday()"],
  YearDay: [".YearDay()", "The day of the year, from 1.", "date(ts).YearDay()"],
  Unix: [".Unix()", "Seconds since 1970.", "date(ts).Unix()"],
  UnixMilli: [".UnixMilli()", "Milliseconds since 1970.", "date(ts).UnixMilli()"],
  UnixMicro: [".UnixMicro()", "Microseconds since 1970.", "date(ts).UnixMicro()"],
  UnixNano: [".UnixNano()", "Nanoseconds since 1970.", "date(ts).UnixNano()"],
  UTC: [".UTC()", "The same time in UTC.", "date(ts).UTC()"],
  In: [".In(zone)", "The same time in a zone.", `date(ts).In(timezone("Asia/Tokyo"))`],
  Format: [".Format(layout)", "As text, by a layout.", `date(ts).Format("02.01.2006")`],
  String: [".String()", "As text.", "date(ts).String()"],
  Add: [".Add(duration)", "So much later.", `date(ts).Add(duration("1h"))`],
  Sub: [".Sub(time)", "The span between two times.", "now().Sub(date(ts))"],
  Before: [".Before(time)", "Whether it is earlier.", "date(ts).Before(now())"],
  After: [".After(time)", "Whether it is later.", "date(ts).After(now())"],
  Equal: [".Equal(time)", "Whether it is the same time, in whatever zone.", "date(ts).Equal(date(ts).UTC())"],
};

/** Methods of durations. */
export const durationMethodEntries: Entries = {
  Hours: [".Hours()", "In hours, a float.", `duration("90m").Hours()`],
  Minutes: [".Minutes()", "In minutes, a float.", `duration("90m").Minutes()`],
  Seconds: [".Seconds()", "In seconds, a float.", `duration("1500ms").Seconds()`],
  Milliseconds: [".Milliseconds()", "In whole milliseconds.", `duration("1.5s").Milliseconds()`],
  Microseconds: [".Microseconds()", "In whole microseconds.", `duration("1.5ms").Microseconds()`],
  Nanoseconds: [".Nanoseconds()", "In nanoseconds.", `duration("1.5us").Nanoseconds()`],
  String: [".String()", "As text.", `duration("90s").String()`],
};
