import { ExpressionError, type FreeName, freeNames } from "../../engine/language.ts";
import type { Field } from "./field.ts";
import { type SchemaEntry, sourceOf, type Topic } from "./schema-list.ts";
import type { Warn } from "./warning.ts";

/** A field that an expression reads and no schema declares. */
export interface UndeclaredField {
  source_id: string;
  name: string;
  type: string;
  /** The expression. */
  field: Field;
}

/**
 * The fields that v3 must declare because the stateless transform reads them: only those of the transform's own source,
 * and no calls or variables, because every event must have a declared field. Their types are guessed, with a warning.
 */
export function undeclaredFields(
  root: Field,
  topics: readonly Topic[],
  entries: readonly SchemaEntry[],
  warn: Warn,
): UndeclaredField[] {
  const stateless = root.get("stateless_transformation");
  if (!stateless.get("enabled").isOn) return [];
  const [source_id] = sourceOf(stateless.get("source_id"), topics, stateless);
  if (!topics.some((topic) => topic.source_id === source_id)) return [];
  const declared = entries.filter((one) => one.source_id === source_id).map(({ name }) => name.text);
  // A field counts as declared if a part of it is.
  const known = new Set(declared.flatMap((name) => [name, name.split(".", 1)[0] ?? ""]));
  const outputs = stateless.get("config", "transform").items();
  const types = new Map(
    outputs.toReversed().map((one) => [one.get("output_name").text, one.get("output_type").text] as const),
  );
  const found: UndeclaredField[] = [];
  for (const output of outputs) {
    const field = output.get("expression");
    for (const one of namesIn(field.text).filter(({ name }) => !known.has(name))) {
      known.add(one.name);
      // The type by the use of the name, else of the output with that name, else of the output that reads it.
      const type = basicName(one.is ?? types.get(one.name) ?? output.get("output_type").text);
      found.push({ source_id, name: one.name, type, field });
      warn("V2_FIELD_ADDED", field, {
        expected: `fields that the schema of source "${source_id}" declares`,
        found: `"${one.name}", which is declared as ${type} now: check its type, and that every event has it`,
      });
    }
  }
  return found;
}

function namesIn(expression: string): FreeName[] {
  try {
    return freeNames(expression);
  } catch (error) {
    if (error instanceof ExpressionError) return [];
    throw error;
  }
}

/** The one output type that is not a field type, as a field type. */
function basicName(type: string): string {
  return type === "[]string" ? "array" : type;
}
