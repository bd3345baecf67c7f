import { isSecret, typesAt, type Path } from "../../schemas/index.ts";
import type { Document } from "./document.ts";
import { maxFileBytes } from "./limits.ts";
import type { Node, ScalarNode } from "./node.ts";
import { nearest, printable, problem, type Problem } from "./problem.ts";

/** Texts that the files of one repository name as `${var:NAME}`, and that differ between environments, by name. */
export type Variables = ReadonlyMap<string, string>;

export const noVariables: Variables = new Map();

/** `$${` is a plain `${`, which is left as it is. */
const references = /\$\$\{|\$\{var:([^}]*)\}?/g;

/** Of one text so many wrong references are told: each is looked for in the file. */
const mostTold = 20;

/** Fields that say what a document is: the same in every environment. */
const fixed: readonly unknown[] = ["version", "pipeline_id"];

/**
 * The document with the values of its variables. A text that is nothing but one reference becomes what its field takes: a
 * number, true or false, or a list of texts from a text with commas. Values are not searched for references. A variable
 * that is not set, or that stands in a secret, is a problem of the document, which keeps that text. So are more characters
 * in all texts with references, each alias counted as often as it is used, than a file may have.
 */
export function withVariables(document: Document, variables: Variables): Document {
  const problems: Problem[] = [];
  let room = maxFileBytes;
  const replaced = document.replacing((scalar, path) => {
    if (typeof scalar.value !== "string" || !scalar.value.includes("${var:") || room < 0) return scalar;
    const text = scalar.value;
    const found = [...text.matchAll(references)].filter(([spelled]) => spelled !== "$${");
    if (found.length === 0) return scalar;
    room -= Math.max(text.length, lengthWith(text, found, variables));
    const wrong = room < 0 ? [tooLong(document, path)] : problemsOf(document, path, found, variables);
    for (const one of wrong) problems.push(one);
    if (wrong.length > 0) return scalar;
    const value = text.replaceAll(references, (spelled, name?: string) => variables.get(name ?? "") ?? spelled);
    const isWhole = found[0]?.[0] === text;
    const made = { ...scalar, value, variables: [...new Set(found.map(([, name = ""]) => name))] };
    return isWhole ? typed(made, value, typesAt(path)) : made;
  });
  return problems.length === 0 ? replaced : replaced.with(problems);
}

/** How long a text is with the values of its references. */
function lengthWith(text: string, found: readonly RegExpMatchArray[], variables: Variables): number {
  let length = text.length;
  for (const [spelled, name = ""] of found) length += (variables.get(name)?.length ?? spelled.length) - spelled.length;
  return length;
}

function tooLong(document: Document, path: Path): Problem {
  const expected = `texts with variables that have at most ${maxFileBytes} characters together, as a file may have`;
  return problem("VARIABLE", document.place(path), { path, expected, found: "more" });
}

/** The first problems of the references of a text. */
function problemsOf(
  document: Document,
  path: Path,
  found: readonly RegExpMatchArray[],
  variables: Variables,
): Problem[] {
  const problems: Problem[] = [];
  for (const reference of found) {
    const one = problemOf(document, path, reference, variables);
    if (one !== undefined && problems.push(one) === mostTold) break;
  }
  return problems;
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
