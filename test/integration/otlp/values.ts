import type { HrTime } from "@opentelemetry/api";

/** A column for each field of a table, and what is expected in it. */
export type Row = Record<string, unknown>;

/** A time as a row has it: RFC 3339 with nanoseconds, without zeros at their end. */
export function timeText([seconds, nanoseconds]: HrTime): string {
  const fraction = String(nanoseconds).padStart(9, "0").replace(/0+$/, "");
  return new Date(seconds * 1000).toISOString().replace(".000Z", fraction === "" ? "Z" : `.${fraction}Z`);
}

/** An attribute's value, or a body, as a row has it: text. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  return typeof value === "string" ? value : JSON.stringify(value, bytesAsHex);
}

function bytesAsHex(_key: string, value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value;
}

/** Attributes as a row has them: a map of texts. */
export function textsOf(attributes: object | undefined): Record<string, string> {
  return Object.fromEntries(Object.entries(attributes ?? {}).map(([key, value]) => [key, textOf(value)]));
}

/** Of two times, the nanoseconds from the first to the second. */
export function nanosecondsBetween(start: HrTime, end: HrTime): number {
  return (end[0] - start[0]) * 1e9 + end[1] - start[1];
}

/** A time as ClickHouse prints a DateTime64(9). */
export function columnTime([seconds, nanoseconds]: HrTime): string {
  const whole = new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ");
  return `${whole}.${String(nanoseconds).padStart(9, "0")}`;
}
