import type { Effect, SchemaNode } from "./annotations.ts";
import testsSchema from "./pipeline-tests.schema.json" with { type: "json" };
import schema from "./pipeline-v3.schema.json" with { type: "json" };

/** What an editor says of a change of a field, by its effect class; nothing where no running pipeline notices it. */
const changes: Readonly<Record<Exclude<Effect, "none">, string>> = {
  hot: "A change is applied while the pipeline runs.",
  restart: "A change drains the pipeline and starts it again.",
  forget: "A change starts the pipeline again, and it forgets what it remembers of this.",
  refuse: "A change is refused while the pipeline exists.",
};

/** The JSON Schema of pipeline files for editors: our annotations are in its descriptions and in its messages of errors. */
export function editorSchema(): object {
  return forEditors(schema) as object;
}

/** The same of the files with tests of pipelines. */
export function editorSchemaOfTests(): object {
  return forEditors(testsSchema) as object;
}

function forEditors(value: unknown, key = ""): unknown {
  if (Array.isArray(value)) return value.map((item) => forEditors(item));
  if (typeof value !== "object" || value === null) return value;
  // Below these keys are names of fields, and not keywords.
  const isNames = key === "properties" || key === "definitions";
  const kept = Object.entries(value).filter(([name]) => isNames || !isOwn(name));
  const node = Object.fromEntries(
    kept.map(([name, held]) => [name, name === "examples" ? held : forEditors(held, isNames ? "" : name)]),
  );
  return isNames ? node : { ...node, ...describedBy(value) };
}

/** Keywords that no editor knows. */
function isOwn(name: string): boolean {
  return (name.startsWith("x-") && name !== "x-sluice") || name === "discriminator";
}

function describedBy(node: SchemaNode): object {
  const { description, "x-expected": expected, "x-effect": effect, "x-rule": rule, "x-default": words } = node;
  const message =
    expected === undefined
      ? {}
      : { errorMessage: `Expected ${expected}.`, patternErrorMessage: `Expected ${expected}.` };
  if (description === undefined) return message;
  const rules = rule === undefined ? [] : [`Rule: ${rule}.`];
  const fallback = words === undefined ? defaultOf(node) : [`Default: ${words}.`];
  const change = effect === undefined || effect === "none" ? [] : [changes[effect]];
  const lines = [description, ...rules, ...fallback, ...examplesOf(node), ...change];
  return { ...message, markdownDescription: lines.join("\n\n") };
}

function defaultOf(node: SchemaNode): string[] {
  return node.default === undefined ? [] : [`Default: \`${JSON.stringify(node.default)}\`.`];
}

function examplesOf({ examples = [] }: SchemaNode): string[] {
  return examples.length === 0 ? [] : [`Example: ${examples.map((one) => `\`${JSON.stringify(one)}\``).join(", ")}`];
}
