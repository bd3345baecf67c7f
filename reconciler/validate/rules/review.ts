import type { Problem } from "../problem.ts";
import type { Rule, View } from "../view.ts";

/** What comes from version v2, where a filter dropped the events that it keeps in v3, waits until a person has looked. */
export const reviewRules: readonly Rule[] = [filtersReviewed];

function* filtersReviewed(document: View): Iterable<Problem> {
  if (document.get("x-sluice", "filters_reviewed").value !== false) return;
  for (const transform of document.get("transforms").items()) {
    if (transform.get("type").text !== "filter") continue;
    yield transform.get("config", "expression").problem("FILTERS_NOT_REVIEWED", {
      expected: "a filter that a person has looked at: v3 keeps the events for which it is true",
      found: "one that comes from v2, which dropped them",
      suggestion: "see that it says what to keep, then write x-sluice.filters_reviewed: true",
    });
  }
}
