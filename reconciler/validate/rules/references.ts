import { found } from "../found.ts";
import { didYouMean } from "../nearest.ts";
import { printable, type Problem } from "../problem.ts";
import type { View } from "../view.ts";
import { sourceFeed, type Feed } from "./feeds.ts";

/** `view` must be the source_id of a source of the document. */
export function* mustNameSource(document: View, view: View): Iterable<Problem> {
  if (view.isBlank) return;
  const ids = document
    .get("sources")
    .items()
    .map((source) => source.get("source_id").text ?? "");
  if (ids.includes(view.text ?? "")) return;
  yield view.problem("SOURCE_REFERENCE", {
    expected: `the source_id of a source (${listed(ids)})`,
    found: found(view.value, view.path),
    suggestion: didYouMean(view.text, ids),
  });
}

/** `view` must be a field of `feed`, where its fields are known. */
export function* mustNameField(view: View, feed: Feed): Iterable<Problem> {
  const { name, fields } = feed;
  if (view.isBlank || fields === undefined || fields.has(view.text ?? "")) return;
  yield view.problem("FIELD_REFERENCE", {
    expected: `a field of ${name} (${listed([...fields.keys()])})`,
    found: found(view.value, view.path),
    suggestion: didYouMean(view.text, fields.keys()),
  });
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

function listed(words: readonly string[]): string {
  const some = words.slice(0, named).map((word) => printable(word));
  return words.length > named ? `${some.join(", ")} and ${words.length - named} more` : some.join(", ");
}
