import { isSecret, type Path } from "../../schemas/index.ts";
import { printable } from "./problem.ts";

/** A value as a message shows it: short, and only its kind where it is a secret or a collection. */
export function found(value: unknown, path: Path): string {
  if (isSecret(path)) return kindOf(value);
  if (typeof value === "string") return value.trim() === "" ? "an empty text" : `"${printable(value)}"`;
  if (typeof value === "boolean") return `${value}`;
  if (typeof value === "number") return `the number ${value}`;
  return kindOf(value);
}

/** A value's kind with its article, for secrets and for values that stand where something else was expected. */
export function kindOf(value: unknown): string {
  if (value === undefined || value === null) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a mapping";
  return `a ${kind(value)}`;
}

function kind(value: unknown): string {
  if (typeof value === "string") return "text";
  return typeof value === "number" ? "number" : "true-or-false value";
}
