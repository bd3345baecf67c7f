import { format } from "prettier";
import schema from "./plan-report.schema.json" with { type: "json" };

interface Node {
  $ref?: string;
  description?: string;
  type?: string;
  const?: unknown;
  enum?: readonly string[];
  items?: Node;
  required?: readonly string[];
  properties?: Readonly<Record<string, Node>>;
}

const definitions: Readonly<Record<string, Node>> = schema.definitions;

const head = `<!-- Generated from schemas/plan-report.schema.json by \`npm run schemas\`. Change the schema, not this file. -->

# The report of a plan`;

/** The text of `docs/reference/plan-report.md`: every key of the document, a table for each object. */
export function planReference(): Promise<string> {
  const sections = Object.entries(definitions).map(([name, node]) => `## ${name}\n\n${bodyOf(node)}`);
  return format([head, bodyOf(schema), ...sections].join("\n\n"), { parser: "markdown", printWidth: 120 });
}

function bodyOf({ description = "", properties = {}, required = [] }: Node): string {
  const rows = Object.entries(properties).map(([key, node]) => {
    const isThere = required.includes(key) ? "always" : "";
    return `| \`${key}\` | ${typeOf(node)} | ${isThere} | ${meaningOf(node)} |`;
  });
  return [description, ["| key | type | there | meaning |", "| - | - | - | - |", ...rows].join("\n")].join("\n\n");
}

function typeOf({ $ref, const: only, type, enum: values, items }: Node): string {
  if ($ref !== undefined) return linkTo($ref);
  if (only !== undefined) return `\`${JSON.stringify(only)}\``;
  if (values !== undefined) return values.map((value) => `\`${value}\``).join(" ");
  if (type === "array" && items !== undefined) return `list of ${typeOf(items)}`;
  return type ?? "any value";
}

function linkTo(pointer: string): string {
  const name = pointer.replace("#/definitions/", "");
  return `[${name}](#${name})`;
}

function meaningOf({ $ref, description }: Node): string {
  const target = $ref === undefined ? undefined : definitions[$ref.replace("#/definitions/", "")];
  return description ?? target?.description ?? "";
}
