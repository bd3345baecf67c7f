import { compact } from "./reading.ts";

/** Characters of a value that an error shows. */
const shown = 80;

/** A value as an error shows it: JSON, cut after 80 characters. */
export function shortened(value: unknown): string {
  if (value === undefined) return "nothing";
  const text = compact(typeof value === "string" ? value.slice(0, shown + 1) : value);
  return text.length > shown ? `${text.slice(0, shown)}…` : text;
}
