import type { Problem } from "../problem.ts";
import type { Rule, View } from "../view.ts";
import { sinkFeeds } from "./feeds.ts";
import { mustDiffer, mustNameField } from "./references.ts";
import { mustBeDuration } from "./windows.ts";

/** Rules of the v3 format, section 6. */
export const sinkRules: readonly Rule[] = [mappingPresent, mappingNames, columnNames, delay];

function* mappingPresent(document: View): Iterable<Problem> {
  const mapping = document.get("sink", "mapping");
  const isEmpty = !mapping.exists || (Array.isArray(mapping.value) && mapping.value.length === 0);
  if (!document.get("sink").exists || !isEmpty) return;
  const suggestion = "add an entry with name, column_name and column_type for each column";
  yield mapping.problem("MAPPING_EMPTY", {
    expected: "one entry for each column that is written",
    found: "nothing",
    suggestion,
  });
}

function* mappingNames(document: View): Iterable<Problem> {
  for (const feed of sinkFeeds(document)) {
    for (const entry of document.get("sink", "mapping").items()) yield* mustNameField(entry.get("name"), feed);
  }
}

function* columnNames(document: View): Iterable<Problem> {
  const names = document
    .get("sink", "mapping")
    .items()
    .map((entry) => entry.get("column_name"));
  yield* mustDiffer(names, "DUPLICATE_NAME", "each column_name once");
}

function* delay(document: View): Iterable<Problem> {
  yield* mustBeDuration(document.get("sink", "max_delay_time"));
}
