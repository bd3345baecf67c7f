import type { Fail } from "./arithmetic.ts";
import { Duration } from "./time.ts";

const units: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

const part = /(\d+)?(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/y;

const LONGEST = 64;

/** `1h30m`, `1.5s`, `-2ms`. There are no days: their length depends on the zone. */
export function parseDuration(text: string, fail: Fail): Duration {
  if (text.length > LONGEST) return fail("expected a duration such as 1h30m, found a text that is too long for one");
  const body = text.replace(/^[+-]/, "");
  if (body === "0") return new Duration(0n);
  let total = 0n;
  let at = 0;
  do {
    part.lastIndex = at;
    const found = part.exec(body);
    if (found === null || (found[1] === undefined && (found[2] ?? "") === "")) {
      return fail("expected a duration such as 1h30m or 250ms (units: ns us ms s m h), found another text");
    }
    const [whole, digits = "", fraction = "", unit = ""] = found;
    const scale = units[unit] ?? 0n;
    total +=
      BigInt(digits === "" ? 0 : digits) * scale +
      (BigInt(fraction === "" ? 0 : fraction) * scale) / 10n ** BigInt(fraction.length);
    at += whole.length;
  } while (at < body.length);
  if (total >= 2n ** 63n) return fail("the duration is too long: the longest is about 292 years");
  return new Duration(text.startsWith("-") ? -total : total);
}
