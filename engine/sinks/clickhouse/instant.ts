/** A point in time, exact to the nanosecond: `seconds` since the epoch, rounded down, and `nanos` 0..999999999 on top. */
export interface Instant {
  seconds: number;
  nanos: number;
}

/** From seconds since the epoch with a fraction: the digits that the number shows, not its binary noise. */
export function fromSeconds(value: number): Instant | undefined {
  if (!Number.isFinite(value) || value < 0) return undefined;
  if (Number.isInteger(value)) return { seconds: value, nanos: 0 };
  const text = value < 1e-6 ? value.toFixed(9) : String(value);
  const [whole = "0", fraction = ""] = text.split(".");
  return { seconds: Number(whole), nanos: nanosOf(fraction) };
}

/** Nanoseconds of the digits behind the point; digits beyond the ninth are cut. */
export function nanosOf(fraction: string): number {
  return fraction === "" ? 0 : Number(fraction.slice(0, 9).padEnd(9, "0"));
}

/** ISO 8601 in UTC with `precision` digits of the second: one text for every zone and precision of a column. */
export function isoText({ seconds, nanos }: Instant, precision: number): string {
  const whole = secondText(seconds);
  return precision === 0 ? `${whole}Z` : `${whole}.${String(nanos).padStart(9, "0").slice(0, precision)}Z`;
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
