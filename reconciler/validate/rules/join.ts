import { found, type Problem } from "../../language/problem.ts";
import type { Rule, View } from "../../language/view.ts";
import { joins } from "./feeds.ts";
import { mustBeJoinWindow, mustDiffer, mustNameFieldOf, mustNameSource } from "./references.ts";

/** Rules of `join` (docs/reference/pipeline.md). A disabled join counts as none. */
export const joinRules: readonly Rule[] = [joinSources, joinSides, joinOutputs];

function* joinSources(document: View): Iterable<Problem> {
  if (!joins(document)) return;
  const sources = document.sources();
  const kafka = document.sources("kafka");
  if (kafka.length === 2 && sources.length === 2) return;
  yield document
    .get("join")
    .problem("JOIN", { expected: "exactly two kafka sources to join", found: `${kafka.length} of ${sources.length}` });
}

function* joinSides(document: View): Iterable<Problem> {
  if (!joins(document)) return;
  const [left, right] = ["left_source", "right_source"].map((side) => document.get("join", side));
  for (const side of [left, right]) {
    if (side === undefined) continue;
    yield* mustNameSource(document, side.get("source_id"));
    yield* mustNameFieldOf(document, side.get("key"), side.get("source_id"));
    yield* mustBeJoinWindow(side.get("time_window"));
  }
  const id = right?.get("source_id");
  if (id === undefined || id.isBlank || id.text !== left?.get("source_id").text) return;
  yield id.problem("JOIN", { expected: "another source than the left side", found: found(id.value, id.path) });
}

function* joinOutputs(document: View): Iterable<Problem> {
  if (!joins(document)) return;
  const outputs = document.get("join", "output_fields").items();
  for (const output of outputs) {
    yield* mustNameSource(document, output.get("source_id"));
    yield* mustNameFieldOf(document, output.get("name"), output.get("source_id"));
  }
  const names = outputs.map((output) =>
    output.get("output_name").exists ? output.get("output_name") : output.get("name"),
  );
  yield* mustDiffer(names, "DUPLICATE_NAME", "each field of the joined event once");
}
