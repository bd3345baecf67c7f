import { isDeepStrictEqual } from "node:util";
import { found } from "../found.ts";
import type { Problem } from "../problem.ts";
import type { Rule, View } from "../view.ts";
import { joins } from "./feeds.ts";
import { lineOf, mustDiffer } from "./references.ts";

/** Rules of the v3 format, sections 1 and 2: how many sources of which kind, and what makes each of them whole. */
export const sourceRules: readonly Rule[] = [sourceKinds, sourceNames, schemaFieldNames, kafkaTogether, otlpTogether];

function kindOfSource(source: View): string | undefined {
  const [kind = ""] = source.get("type").text?.split(".") ?? [];
  return ["webhook", "kafka", "otlp"].includes(kind) ? kind : undefined;
}

function* sourceKinds(document: View): Iterable<Problem> {
  const [first, ...others] = document.sources().filter((source) => kindOfSource(source) !== undefined);
  const kind = first && kindOfSource(first);
  if (kind === undefined) return;
  for (const source of others) {
    const type = source.get("type");
    if (kindOfSource(source) !== kind) {
      yield type.problem("SOURCE_MIX", {
        expected: `sources of one kind, here ${kind}`,
        found: found(type.value, type.path),
      });
    } else if (kind === "webhook") {
      yield source.problem("SOURCE_COUNT", { expected: "only one webhook source", found: "another one" });
    }
  }
}

function* sourceNames(document: View): Iterable<Problem> {
  const ids = document.sources().map((source) => source.get("source_id"));
  yield* mustDiffer(ids, "SOURCE_ID", "a source_id that no other source has");
  const pipeline_id = document.get("pipeline_id").text;
  for (const id of ids) {
    if (id.text !== `${pipeline_id}-join` && id.text !== `${pipeline_id}-stateless`) continue;
    yield id.problem("SOURCE_ID", {
      expected: "a source_id that Sluice does not use itself",
      found: found(id.value, id.path),
    });
  }
}

function* schemaFieldNames(document: View): Iterable<Problem> {
  for (const source of document.sources()) {
    const names = source
      .get("schema_fields")
      .items()
      .map((field) => field.get("name"));
    yield* mustDiffer(names, "DUPLICATE_NAME", "each field once");
  }
}

function* kafkaTogether(document: View): Iterable<Problem> {
  const kafka = document.sources("kafka");
  yield* mustDiffer(
    kafka.map((source) => source.get("topic")),
    "SOURCE_MIX",
    "a topic that no other source reads",
  );
  const [first, ...others] = kafka.map((source) => source.get("connection_params"));
  for (const other of others) {
    if (first === undefined || !other.exists || isDeepStrictEqual(given(first), given(other))) continue;
    yield other.problem("SOURCE_MIX", {
      expected: `the connection of the first source (line ${lineOf(first)}), as one consumer group reads all topics`,
      found: "another one",
      suggestion: joins(document) ? undefined : "give it a pipeline of its own, which may write to the same table",
    });
  }
}

/** A request says for which signal it is, and nothing else that could tell sources apart. */
function otlpTogether(document: View): Iterable<Problem> {
  const types = document.sources().flatMap((source) => (kindOfSource(source) === "otlp" ? [source.get("type")] : []));
  return mustDiffer(types, "SOURCE_MIX", "a signal that no other source receives");
}

/** A connection without what says the same as leaving it out. */
function given(connection: View): Record<string, unknown> {
  const defaults: readonly unknown[] = ["", false, "NO_AUTH"];
  const members = connection.members().filter(({ value }) => !defaults.includes(value));
  return Object.fromEntries(members.map(({ path, value }) => [String(path.at(-1)), value]));
}
