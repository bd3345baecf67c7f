import type { SchemaField } from "../../schemas/pipeline.ts";
import { children } from "./ast.ts";
import type { Node } from "./ast.ts";
import { zeroRecord } from "./environment.ts";
import { ExpressionError } from "./errors.ts";

/**
 * Evaluates a checked filter on a record of zero values, since one that fails there would fail on the first empty text.
 * A failure that comes from what an array or a map holds says nothing, because the schema does not know what they hold:
 * such expressions are allowed, and events on which they fail become dead letters. Throws ExpressionError.
 */
export function probe(
  root: Node,
  fields: readonly SchemaField[],
  evaluate: (record: Record<string, unknown>) => unknown,
): void {
  try {
    evaluate(zeroRecord(fields));
  } catch (error) {
    if (!(error instanceof ExpressionError) || !readsContents(root, error, fields)) {
      throw error instanceof ExpressionError ? error.onZeroValues() : error;
    }
  }
}

/** Whether the failed part has to do with an array or map of the record, directly or through a variable. */
function readsContents(root: Node, { offset, end }: ExpressionError, fields: readonly SchemaField[]): boolean {
  const open = new Set(
    fields.filter(({ type }) => type === "array" || type === "map").map(({ name }) => name.split(".")[0]),
  );
  const all = nodes(root);
  const values = new Map(all.flatMap((node) => (node.kind === "let" ? [[node.name, node.value] as const] : [])));
  const reads = (node: Node, seen: ReadonlySet<string>): boolean =>
    nodes(node).some((part) => {
      if (part.kind !== "name") return false;
      const value = values.get(part.name);
      if (value === undefined) return open.has(part.name) || part.name === "$env";
      return !seen.has(part.name) && reads(value, new Set(seen).add(part.name));
    });
  return all.some((node) => node.start === offset && node.end === end && reads(node, new Set()));
}

function nodes(root: Node): Node[] {
  return [root, ...children(root).flatMap((child) => nodes(child))];
}
