import { oneLine } from "../../../peers/foreign-text.ts";
import { RequestError } from "./request-error.ts";

/** A row as the server sent it. */
export type Row = Record<string, unknown>;

/** The question that a row answers, for errors: such as `system.tables`. */
type Question = string;

/** The longest text of a name, of a type or of a number; only descriptions are longer. */
const longestText = 1 << 20;

/** The most entries of a list. */
const longestList = 10_000;

/** A field that must be a text. Throws a RequestError. */
export function textIn(row: Row, field: string, of: Question): string {
  const value = row[field];
  if (typeof value === "string" && value.length <= longestText) return value;
  throw unexpected(of, field, `a text of at most ${longestText} characters`, value);
}

/** A field that must be a list of texts. Throws a RequestError. */
export function textsIn(row: Row, field: string, of: Question): string[] {
  const value = row[field];
  const isList = Array.isArray(value) && value.length <= longestList;
  if (isList && value.every((one) => typeof one === "string")) return value;
  throw unexpected(of, field, `a list of at most ${longestList} texts`, value);
}

/** A field that must be a whole number; servers send large ones as texts. Throws a RequestError. */
export function numberIn(row: Row, field: string, of: Question): number {
  const value = row[field];
  const number = typeof value === "string" && /^-?\d{1,20}$/.test(value) ? Number(value) : value;
  if (typeof number === "number" && Number.isFinite(number)) return number;
  throw unexpected(of, field, "a whole number", value);
}

/** A server, or what answers in its place, sent something else than was asked for. It is asked again. */
export function unexpected(of: Question, field: string, expected: string, value: unknown): RequestError {
  const text = `the answer about ${of} is not as ClickHouse gives it: expected ${expected} as ${field}, found ${kindOf(value)}`;
  return new RequestError({ from: "answer", text });
}

/** What was found, in short: texts of a peer are long, or not its own. */
function kindOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === "string")
    return value.length <= 40 ? `"${oneLine(value)}"` : `a text of ${value.length} characters`;
  return typeof value === "object" && value !== null ? "an object" : JSON.stringify(value);
}
