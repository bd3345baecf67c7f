import { didYouMean, found, printable, type Problem } from "../../language/problem.ts";
import type { View } from "../../language/view.ts";
import { fieldType, hasField, sourceFeed, type Feed } from "./feeds.ts";
import { parseDuration } from "../../../schemas/index.ts";

/** `view` must be the source_id of a source of the document. */
export function* mustNameSource(document: View, view: View): Iterable<Problem> {
  if (view.isBlank) return;
  const ids = document.sources().map((source) => source.get("source_id").text ?? "");
  if (ids.includes(view.text ?? "")) return;
  yield view.problem("SOURCE_REFERENCE", {
    expected: `the source_id of a source (${listed(ids)})`,
    found: found(view.value, view.path),
    suggestion: didYouMean(view.text, ids),
  });
}

/** `text`, which `view` holds or names, must be a field of `feed`, where its fields are known. */
export function* mustNameField(view: View, feed: Feed, text = view.text ?? ""): Iterable<Problem> {
  const { name, fields } = feed;
  if (view.isBlank || fields === undefined || hasField(feed, text)) return;
  yield view.problem("FIELD_REFERENCE", {
    expected: `a field of ${name} (${listed(fields)})`,
    found: found(text, view.path),
    suggestion: insideOf(feed, text) ?? didYouMean(text, fields.keys()),
  });
}

/** A field inside of a declared one has to be declared itself. */
function insideOf(feed: Feed, text: string): string | undefined {
  const type = fieldType(feed, text.slice(0, text.indexOf(".")));
  return type === "map" && feed.name.startsWith("source ")
    ? `declare "${printable(text)}" in schema_fields of ${feed.name}`
    : undefined;
}

export function* mustNameFieldOf(document: View, view: View, source_id: View): Iterable<Problem> {
  yield* mustNameField(view, sourceFeed(document, source_id.text));
}

/** No two of `views` may have one text. */
export function* mustDiffer(views: readonly View[], code: Problem["code"], what: string): Iterable<Problem> {
  const seen = new Map<string, View>();
  for (const view of views) {
    const text = view.text;
    if (text === undefined || view.isBlank) continue;
    const first = seen.get(text);
    if (first === undefined) seen.set(text, view);
    else yield view.problem(code, { expected: what, found: `"${printable(text)}" again, after line ${lineOf(first)}` });
  }
}

export function lineOf(view: View): number {
  return view.document.place(view.path).line;
}

const named = 8;

function listed(words: readonly string[] | ReadonlyMap<string, unknown>): string {
  const count = "size" in words ? words.size : words.length;
  const some: string[] = [];
  for (const word of "size" in words ? words.keys() : words) if (some.push(printable(word)) === named) break;
  return count > named ? `${some.join(", ")} and ${count - named} more` : some.join(", ");
}

const longestWindow = 168n * 3_600_000_000_000n;

/** A window of dedup: longer than 0 and at most seven days. */
export function* mustBeWindow(view: View): Iterable<Problem> {
  yield* mustLast(
    view,
    "a duration of more than 0 and at most 168h",
    (length) => length > 0n && length <= longestWindow,
  );
}

/** A window of a join: at most seven days, or 0 for one without an end. */
export function* mustBeJoinWindow(view: View): Iterable<Problem> {
  yield* mustLast(
    view,
    "a duration of at most 168h, or 0 for no end",
    (length) => length >= 0n && length <= longestWindow,
  );
}

/** A duration longer than 0. */
export function* mustBePositive(view: View): Iterable<Problem> {
  yield* mustLast(view, "a duration of more than 0", (length) => length > 0n);
}

/** A duration that can be represented: the grammar allows longer ones than fit into 292 years. */
export function* mustBeDuration(view: View): Iterable<Problem> {
  yield* mustLast(view, "a duration of at most 292 years", () => true);
}

/** Checks only valid durations; the schema reports the others. */
function* mustLast(view: View, expected: string, fits: (nanoseconds: bigint) => boolean): Iterable<Problem> {
  if (view.text === undefined || !/^[+-]?[\d.]/.test(view.text) || !/^[+-]?[\d.nuµμmshd]+$/.test(view.text)) return;
  const length = parseDuration(view.text);
  if (length !== undefined && fits(length)) return;
  yield view.problem("DURATION", { expected, found: found(view.value, view.path) });
}
