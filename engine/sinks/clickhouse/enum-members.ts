import type { ColumnType, ColumnTypeProblem } from "./column-type.ts";

/** `'name' = number`, or names alone, which count on from the one before (the first is 1). */
export function enumeration(bits: 8 | 16, list: readonly string[]): ColumnType | ColumnTypeProblem {
  const members = new Map<string, number>();
  const limit = 2 ** (bits - 1);
  let next = 1;
  for (const text of list) {
    const match = /^'((?:[^'\\]|\\[\s\S]|'')*)'(?:\s*=\s*(-?\d{1,6}))?$/.exec(text);
    const name = match?.[1]?.replace(/\\([\s\S])|''/g, (_, escaped?: string) => escaped ?? "'");
    const value = match?.[2] === undefined ? next : Number(match[2]);
    if (name === undefined || members.has(name) || value < -limit || value >= limit) {
      return {
        problem: `needs members such as Enum${bits}('a' = 1, 'b' = 2), each once and from ${-limit} to ${limit - 1}`,
      };
    }
    members.set(name, value);
    next = value + 1;
  }
  return { kind: "Enum", bits, members };
}
