import { isSecret, typesAt, type Path } from "../../schemas/index.ts";
import type { Document } from "./document.ts";
import type { Node, ScalarNode } from "./node.ts";
import { nearest, printable, problem, type Problem } from "./problem.ts";

/** Texts that the files of one repository name as `${var:NAME}`, and that differ between environments, by name. */
export type Variables = ReadonlyMap<string, string>;

export const noVariables: Variables = new Map();

/** `$${` is a plain `${`, which is left as it is. */
const references = /\$\$\{|\$\{var:([^}]*)\}?/g;

/** Fields that say what a document is: the same in every environment. */
const fixed: readonly unknown[] = ["version", "pipeline_id"];

/**
 * The document with the values of its variables. A text that is nothing but one reference becomes what its field takes: a
 * number, true or false, or a list of texts from a text with commas. Values are not searched for references. A variable
 * that is not set, or that stands in a secret, is a problem of the document, which keeps that text.
 */
export function withVariables(document: Document, variables: Variables): Document {
  const problems: Problem[] = [];
  const replaced = document.replacing((scalar, path) => {
    if (typeof scalar.value !== "string" || !scalar.value.includes("${var:")) return scalar;
    const text = scalar.value;
    const found = [...text.matchAll(references)].filter(([spelled]) => spelled !== "$${");
    const wrong = found.flatMap((reference) => problemOf(document, path, reference, variables) ?? []);
    problems.push(...wrong);
    if (found.length === 0 || wrong.length > 0) return scalar;
    const value = text.replaceAll(references, (spelled, name?: string) => variables.get(name ?? "") ?? spelled);
    const isWhole = found[0]?.[0] === text;
    const made = { ...scalar, value, variables: found.map(([, name = ""]) => name) };
    return isWhole ? typed(made, value, typesAt(path)) : made;
  });
  return problems.length === 0 ? replaced : replaced.with(problems);
}

function problemOf(
  document: Document,
  path: Path,
  { 0: spelled, 1: name = "", index }: RegExpMatchArray,
  variables: Variables,
): Problem | undefined {
  const place = document.placeInside(path, index ?? 0);
  const say = (expected: string, suggestion?: string): Problem =>
    problem("VARIABLE", place, { path, expected, found: printable(spelled), suggestion });
  if (!isVariableName(name) || !spelled.endsWith("}"))
    return say("${var:NAME} with a name of letters, digits and _, or $${ for a plain ${");
  if (isSecret(path))
    return say("a reference to a secret, since variables are shown", `write \${env:${name}} or \${file:/path}`);
  if (path.length === 1 && fixed.includes(path[0])) return say("the text itself, which is the same everywhere");
  if (variables.has(name)) return undefined;
  const near = nearest(name, variables.keys());
  return say(
    "a variable that is set",
    near === undefined ? `set it with --var ${name}=VALUE or in the file of --vars` : `did you mean \${var:${near}}?`,
  );
}

/** Whether a variable may have this name. */
function isVariableName(text: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(text);
}

/** A text as its field takes it; itself where that takes texts, or no such value. */
function typed(scalar: ScalarNode, text: string, types: ReadonlySet<string>): Node {
  if (types.has("string")) return scalar;
  if (types.has("integer") && /^-?\d{1,15}$/.test(text)) return { ...scalar, value: Number(text) };
  if (types.has("boolean") && (text === "true" || text === "false")) return { ...scalar, value: text === "true" };
  if (!types.has("array")) return scalar;
  const items = text.split(",").map((item): Node => ({ ...scalar, value: item.trim() }));
  return { kind: "list", at: scalar.at, items };
}
