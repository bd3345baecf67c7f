import { printable, type Problem } from "../problem.ts";
import type { Rule, View } from "../view.ts";
import { joins } from "./feeds.ts";

/** What is computed or set and reaches nothing. */
export const unusedRules: readonly Rule[] = [outputs, joinOutputs, token];

function mapped(document: View): Set<string | undefined> {
  const mapping = document.get("sink", "mapping").items();
  return new Set(mapping.map((entry) => entry.get("name").text));
}

/** A mapping that is not there yet has a problem of its own. */
function* notMapped(document: View, names: readonly View[]): Iterable<Problem> {
  const used = mapped(document);
  if (used.size === 0) return;
  for (const name of names) {
    if (name.isBlank || used.has(name.text)) continue;
    yield name.problem("UNUSED", {
      expected: "a column that takes it in sink.mapping",
      found: `none for "${printable(name.text ?? "")}"`,
    });
  }
}

function* outputs(document: View): Iterable<Problem> {
  const [stateless] = document.transforms("stateless");
  if (stateless === undefined || joins(document)) return;
  const names = stateless.get("config", "transforms").items();
  yield* notMapped(
    document,
    names.map((output) => output.get("output_name")),
  );
}

function* joinOutputs(document: View): Iterable<Problem> {
  if (!joins(document)) return;
  const fields = document.get("join", "output_fields").items();
  yield* notMapped(
    document,
    fields.map((field) => (field.get("output_name").exists ? field.get("output_name") : field.get("name"))),
  );
}

function* token(document: View): Iterable<Problem> {
  const access_token = document.get("x-sluice", "access_token");
  if (!access_token.exists || document.sources("webhook").length > 0 || document.sources().length === 0) return;
  yield access_token.problem("UNUSED", { expected: "a webhook source, which alone has a token", found: "none" });
}
