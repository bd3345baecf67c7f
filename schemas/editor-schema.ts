import { type Effect, type EventEffect, resolved, type SchemaNode } from "./annotations.ts";
import testsSchema from "./pipeline-tests.schema.json" with { type: "json" };
import schema from "./pipeline-v3.schema.json" with { type: "json" };

/** What an editor says of a change of a field, by its effect; nothing where no running pipeline notices it. */
const changes: Readonly<Record<Exclude<Effect, "none">, string>> = {
  hot: "A change is applied while the pipeline runs.",
  restart: "A change drains the pipeline and starts it again.",
  refuse: "A change is refused while the pipeline exists.",
};

/** The same of what becomes of events. */
const fates: Readonly<Record<Exclude<EventEffect, "same">, string>> = {
  rows: "Other events become rows after a change, or other rows come of them.",
  forget: "Events, or what the pipeline remembers of them, are lost by a change.",
};

/** The JSON Schema of pipeline files for editors: our annotations are in its descriptions and in its messages of errors. */
export function editorSchema(): object {
  return forEditors(schema, { variables: true }) as object;
}

/** The same of the files with tests of pipelines, which have no variables. */
export function editorSchemaOfTests(): object {
  return forEditors(testsSchema, { variables: false }) as object;
}

interface Place {
  /** The keyword above. */
  key?: string;
  /** Whether a value may be `${var:NAME}`. */
  variables: boolean;
}

function forEditors(value: unknown, { key = "", variables }: Place): unknown {
  if (Array.isArray(value)) return value.map((item) => forEditors(item, { variables }));
  if (typeof value !== "object" || value === null) return value;
  // Below these keys are names of fields, and not keywords.
  const isNames = key === "properties" || key === "definitions";
  const kept = Object.entries(value).filter(([name]) => isNames || !isOwn(name));
  const below = kept.map(([name, held]): [string, unknown] => {
    if (!isNames && (name === "examples" || name === "default")) return [name, held];
    const node = forEditors(held, { ...(!isNames && { key: name }), variables: variables && name !== "if" });
    const isField = key === "properties" ? !fixed.has(name) : name === "items" && !isNames;
    return [name, variables && isField ? orVariable(node as object, held as SchemaNode) : node];
  });
  const node = Object.fromEntries(below);
  if (isNames) return node;
  return { ...node, ...(variables && unlessVariable(node)), ...describedBy(value) };
}

/** Fields that say what a document is: the same in every environment. */
const fixed: ReadonlySet<string> = new Set(["version", "pipeline_id"]);

const variable = "\\$\\{var:[A-Za-z_][A-Za-z0-9_]{0,127}\\}";

/** What follows from a field that is not one of some values does not follow from a variable: it may be one of them. */
function unlessVariable({ if: condition, else: otherwise }: { if?: SchemaNode; else?: object }): object {
  if (condition?.properties === undefined || otherwise === undefined) return {};
  const names = Object.keys(condition.properties);
  const given = names.map((name) => ({
    required: [name],
    properties: { [name]: { type: "string", pattern: variable } },
  }));
  return { else: { if: { anyOf: given }, else: otherwise } };
}

/** What is said of a field, and is no condition on its value. */
const notes: ReadonlySet<string> = new Set(["title", "description", "markdownDescription", "default", "examples"]);

/** A field as it is, or with a variable in its place; in a text, also with one within. */
function orVariable(node: object, field: SchemaNode): object {
  const takes = takenBy(field);
  if (takes === "none") return node;
  const entries = Object.entries(node);
  const said = Object.fromEntries(entries.filter(([name]) => notes.has(name)));
  const own = Object.fromEntries(entries.filter(([name]) => !notes.has(name)));
  const pattern = takes === "within" ? variable : `^${variable}$`;
  // Not `anyOf`: an editor would show both where it explains a field.
  return { ...said, if: { type: "string", pattern }, else: own };
}

/** Where a field takes variables: in place of its value, within a text too, or nowhere that is worth a word. */
function takenBy(field: SchemaNode): "within" | "whole" | "none" {
  const { type, const: only, enum: values, items, "x-secret": isSecret } = resolved(field);
  if (isSecret === true || only !== undefined) return "none";
  const types = [type ?? (values === undefined ? [] : "string")].flat();
  if (types.includes("string")) return isBounded(resolved(field)) ? "within" : "none";
  if (types.includes("array")) return items !== undefined && resolved(items).type === "string" ? "whole" : "none";
  return types.includes("integer") || types.includes("boolean") ? "whole" : "none";
}

/** Whether some texts are refused. */
function isBounded({ pattern, enum: values, minLength, maxLength, type }: SchemaNode): boolean {
  return [pattern, values, minLength, maxLength].some((bound) => bound !== undefined) || Array.isArray(type);
}

/** Keywords that no editor knows. */
function isOwn(name: string): boolean {
  return (name.startsWith("x-") && name !== "x-sluice") || name === "discriminator";
}

function describedBy(node: SchemaNode): object {
  const { description, "x-expected": expected, "x-rule": rule, "x-default": words } = node;
  const message =
    expected === undefined
      ? {}
      : { errorMessage: `Expected ${expected}.`, patternErrorMessage: `Expected ${expected}.` };
  if (description === undefined) return message;
  const rules = rule === undefined ? [] : [`Rule: ${rule}.`];
  const fallback = words === undefined ? defaultOf(node) : [`Default: ${words}.`];
  const lines = [description, ...rules, ...fallback, ...examplesOf(node), ...changeOf(node)];
  return { ...message, markdownDescription: lines.join("\n\n") };
}

/** What becomes of events comes before what is done with the pipeline. */
function changeOf({ "x-effect": effect = "none", "x-events": events = "same" }: SchemaNode): string[] {
  const byValue = typeof events === "object" ? Object.entries(events) : [];
  return [
    ...(typeof events === "object" || events === "same" ? [] : [fates[events]]),
    ...byValue.flatMap(([value, of]) => (of === "same" ? [] : [`\`${value}\`: ${fates[of]}`])),
    ...(effect === "none" ? [] : [changes[effect]]),
  ];
}

function defaultOf(node: SchemaNode): string[] {
  return node.default === undefined ? [] : [`Default: \`${JSON.stringify(node.default)}\`.`];
}

function examplesOf({ examples = [] }: SchemaNode): string[] {
  return examples.length === 0 ? [] : [`Example: ${examples.map((one) => `\`${JSON.stringify(one)}\``).join(", ")}`];
}
