import type { ColumnType, ColumnTypeProblem } from "./column-type.ts";

type Zoned = Extract<ColumnType, { kind: "DateTime" | "DateTime64" }>;

/** Zones are names: nothing else is let into a statement that creates a table. */
export function withZone(type: Zoned, list: readonly string[]): ColumnType | ColumnTypeProblem {
  if (list.length === 0) return type;
  const zone = /^'([A-Za-z0-9_+\-/]+)'$/.exec(list[0] ?? "")?.[1];
  return list.length > 1 || zone === undefined
    ? { problem: "needs a time zone such as 'UTC' or 'Europe/Berlin'" }
    : { ...type, zone };
}

export function dateTime64(list: readonly string[]): ColumnType | ColumnTypeProblem {
  if (!/^\d$/.test(list[0] ?? "")) return { problem: "needs a precision from 0 to 9, such as DateTime64(3)" };
  return withZone({ kind: "DateTime64", precision: Number(list[0]) }, list.slice(1));
}
