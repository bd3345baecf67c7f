import { found } from "../found.ts";
import type { Problem } from "../problem.ts";
import type { Rule, View } from "../view.ts";

/** What the format has and nothing acts on yet. To support something, delete its line. */
const notYet: readonly { path: string; values?: readonly unknown[]; what: string }[] = [
  { path: "sources[].format", values: ["avro", "protobuf"], what: "a format other than json" },
  { path: "sources[].schema_registry", what: "a schema registry" },
  { path: "join.enabled", values: [true], what: "a join" },
];

export const notYetRules: readonly Rule[] = [notSupportedYet];

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

function viewsAt(document: View, path: string): View[] {
  let views = [document];
  for (const part of path.split(".")) {
    const key = part.replace("[]", "");
    views = views.flatMap((view) => (part.endsWith("[]") ? view.get(key).items() : [view.get(key)]));
  }
  return views;
}
