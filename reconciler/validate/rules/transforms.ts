import { dedupFields } from "../../../schemas/index.ts";
import { found, type Problem } from "../../language/problem.ts";
import type { Rule, View } from "../../language/view.ts";
import { fieldType, joins, sourceFeed } from "./feeds.ts";
import { mustBeWindow, mustDiffer, mustNameField, mustNameSource } from "./references.ts";

/** Rules of `transforms[]` (docs/reference/pipeline.md). */
export const transformRules: readonly Rule[] = [
  transformSources,
  transformCounts,
  notWithJoin,
  transformOrder,
  dedupKeys,
  dedupKeyTypes,
  constantFilters,
  outputNames,
];

/** The schema allows no more. */
const mostKeyFields = 16;

const order = ["filter", "dedup", "stateless"];

function* transformSources(document: View): Iterable<Problem> {
  for (const transform of document.transforms()) yield* mustNameSource(document, transform.get("source_id"));
}

function* transformCounts(document: View): Iterable<Problem> {
  for (const type of ["filter", "stateless"]) {
    for (const again of document.transforms(type).slice(1)) {
      yield again.problem("TRANSFORM_COUNT", { expected: `one ${type} in a pipeline`, found: "another one" });
    }
  }
  const keyed = new Set<string | undefined>();
  for (const dedup of document.transforms("dedup")) {
    const source_id = dedup.get("source_id").text;
    if (keyed.has(source_id))
      yield dedup.problem("TRANSFORM_COUNT", { expected: "one dedup for a source", found: "another one" });
    keyed.add(source_id);
  }
}

function* notWithJoin(document: View): Iterable<Problem> {
  if (!joins(document)) return;
  for (const transform of [...document.transforms("filter"), ...document.transforms("stateless")]) {
    const type = transform.get("type");
    yield type.problem("JOIN", {
      expected: "no filter and no stateless beside a join",
      found: found(type.value, type.path),
    });
  }
}

function* transformOrder(document: View): Iterable<Problem> {
  let highest = 0;
  for (const type of document.transforms().map((transform) => transform.get("type"))) {
    const rank = order.indexOf(type.text ?? "");
    if (rank >= 0 && rank < highest) {
      const expected = "the order in which transforms run: filter, dedup, stateless";
      yield type.problem("TRANSFORM_ORDER", {
        expected,
        found: `${found(type.value, type.path)} after "${order[highest]}"`,
      });
    }
    highest = Math.max(highest, rank);
  }
}

function* dedupKeys(document: View): Iterable<Problem> {
  for (const dedup of document.transforms("dedup")) {
    const feed = sourceFeed(document, dedup.get("source_id").text);
    for (const { view, field } of keyFields(dedup)) yield* mustNameField(view, feed, field);
    yield* mustBeWindow(dedup.get("config", "time_window"));
  }
}

/** The fields of a dedup key, each with the value that names it. */
function keyFields(dedup: View): { view: View; field: string }[] {
  const key = dedup.get("config", "key");
  const views = key.text === undefined ? key.items(mostKeyFields) : [key];
  return views.flatMap((view) => dedupFields(view.text ?? "").map((field) => ({ view, field })));
}

/**
 * Texts and whole numbers identify events; a fraction is compared by its digits, a list or a mapping by its spelling.
 */
function* dedupKeyTypes(document: View): Iterable<Problem> {
  for (const dedup of document.transforms("dedup")) {
    const feed = sourceFeed(document, dedup.get("source_id").text);
    for (const { view, field } of keyFields(dedup)) {
      const type = fieldType(feed, field);
      if (type === undefined || ["string", "int", "uint"].includes(type)) continue;
      const expected = "a field of type string, int or uint";
      yield view.problem("DEDUP_KEY", { expected, found: `one of type ${type}` });
    }
  }
}

function* constantFilters(document: View): Iterable<Problem> {
  for (const filter of document.transforms("filter")) {
    const expression = filter.get("config", "expression");
    const [, constant] = /^\s*(true|false)\s*$/.exec(expression.text ?? "") ?? [];
    if (constant === undefined) continue;
    yield expression.problem("FILTER_CONSTANT", {
      expected: "an expression that depends on the event",
      found: `${constant}: ${constant === "true" ? "every event is kept" : "every event is dropped"}`,
    });
  }
}

function* outputNames(document: View): Iterable<Problem> {
  for (const stateless of document.transforms("stateless")) {
    const names = stateless
      .get("config", "transforms")
      .items()
      .map((output) => output.get("output_name"));
    yield* mustDiffer(names, "DUPLICATE_NAME", "each output_name once");
  }
}

/** A filter from version v2, which dropped the events that v3 keeps, waits for a review. */
export const reviewRules: readonly Rule[] = [filtersReviewed];

function* filtersReviewed(document: View): Iterable<Problem> {
  if (document.get("x-sluice", "filters_reviewed").value !== false) return;
  for (const transform of document.get("transforms").items()) {
    if (transform.get("type").text !== "filter") continue;
    yield transform.get("config", "expression").problem("FILTERS_NOT_REVIEWED", {
      expected: "a reviewed filter: v3 keeps the events for which it is true",
      found: "one from v2, which dropped them",
      suggestion: "check that it is true for the events to keep, then write x-sluice.filters_reviewed: true",
    });
  }
}
