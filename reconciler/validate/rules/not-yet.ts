import { found } from "../found.ts";
import type { Problem } from "../problem.ts";
import type { Rule, View } from "../view.ts";
import { joins } from "./feeds.ts";

/** What the format has and nothing acts on yet. To support something, delete its line. */
const notYet: readonly { path: string; values?: readonly unknown[]; what: string }[] = [
  { path: "sources[].format", values: ["avro", "protobuf"], what: "a format other than json" },
  { path: "sources[].schema_registry", what: "a schema registry" },
  { path: "join.enabled", values: [true], what: "a join" },
];

export const notYetRules: readonly Rule[] = [notSupportedYet, severalSources, severalDedups];

function* notSupportedYet(document: View): Iterable<Problem> {
  for (const { path, values, what } of notYet) {
    for (const view of viewsAt(document, path)) {
      if (!view.exists || (values !== undefined && !values.includes(view.value))) continue;
      const got = values === undefined ? what : `${what} (${found(view.value, view.path)})`;
      yield view.problem("NOT_SUPPORTED_YET", {
        expected: "what this version of Sluice runs",
        found: `${got}, which is not supported yet`,
      });
    }
  }
}

/** The format lets several topics flow into one table; a join of two has a line of its own above. */
function* severalSources(document: View): Iterable<Problem> {
  if (!joins(document)) yield* moreThanOne(document.sources("kafka"), "Kafka source", "it");
}

function* severalDedups(document: View): Iterable<Problem> {
  if (!joins(document)) yield* moreThanOne(document.transforms("dedup"), "dedup", "its source");
}

function* moreThanOne([, ...others]: readonly View[], what: string, separable: string): Iterable<Problem> {
  for (const other of others) {
    yield other.problem("NOT_SUPPORTED_YET", {
      expected: `one ${what} in a pipeline`,
      found: "another one, which is not supported yet",
      suggestion: `give ${separable} a pipeline of its own, which may write to the same table`,
    });
  }
}

function viewsAt(document: View, path: string): View[] {
  let views = [document];
  for (const part of path.split(".")) {
    const key = part.replace("[]", "");
    views = views.flatMap((view) => (part.endsWith("[]") ? view.get(key).items() : [view.get(key)]));
  }
  return views;
}
