import { parseDuration as parseConfigDuration } from "../../schemas/duration.ts";
import type { Fail } from "./arithmetic.ts";
import { Duration } from "./time.ts";

const longest = 64;

/**
 * `1h30m`, `1.5s`, `-2ms`: durations as pipeline files write them, but without days, whose length depends on the zone.
 */
export function parseDuration(text: string, fail: Fail): Duration {
  if (text.length > longest) return fail("expected a duration such as 1h30m, found a text that is too long for one");
  const nanoseconds = text.includes("d") ? undefined : parseConfigDuration(text);
  if (nanoseconds !== undefined) return new Duration(nanoseconds);
  return fail("expected a duration such as 1h30m or 250ms (units: ns us ms s m h), found another text");
}
