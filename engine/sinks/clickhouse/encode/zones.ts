const hour = 3600;

/** Offsets by zone and hour: events of one moment share them. */
const known = new Map<string, number>();
const mostKnown = 1_000;

const formats = new Map<string, Intl.DateTimeFormat>();

/**
 * Seconds that a zone is ahead of UTC at a time of its clock, which is given in seconds since 1970 as if it were UTC; 0
 * for a zone that Node.js does not know. Within the hours around a change of the clock it may be the offset before or
 * after it.
 */
export function offsetOf(zone: string, clock: number): number {
  const at = Math.floor(clock / hour);
  const key = `${zone} ${at}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  if (known.size >= mostKnown) known.clear();
  const first = offsetAt(zone, at * hour);
  const offset = offsetAt(zone, at * hour - first);
  known.set(key, offset);
  return offset;
}

/** Seconds that a zone is ahead of UTC at an instant, in seconds since 1970. */
function offsetAt(zone: string, seconds: number): number {
  try {
    const parts = formatOf(zone).formatToParts(seconds * 1000);
    const of = (type: string): number => Number(parts.find((part) => part.type === type)?.value);
    const wall = Date.UTC(of("year"), of("month") - 1, of("day"), of("hour"), of("minute"), of("second"));
    return wall / 1000 - seconds;
  } catch (error) {
    if (error instanceof RangeError) return 0;
    throw error;
  }
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const made = formats.get(timeZone);
  if (made !== undefined) return made;
  const numeric = "numeric" as const;
  const fields = { year: numeric, month: numeric, day: numeric, hour: numeric, minute: numeric, second: numeric };
  const format = new Intl.DateTimeFormat("en-US", { timeZone, hourCycle: "h23", era: undefined, ...fields });
  formats.set(timeZone, format);
  return format;
}
