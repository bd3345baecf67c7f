import { compileFilter, ExpressionError } from "../../../engine/index.ts";
import type { FieldType, SchemaField } from "../../../schemas/index.ts";
import { printable, type Problem } from "../problem.ts";
import type { Rule, View } from "../view.ts";
import { sourceFeed } from "./feeds.ts";

/** A filter must compile to true or false against the fields of its source, as the engine will do it. */
export const expressionRules: readonly Rule[] = [filters];

/** Characters of an expression at most; the schema says the same. */
const longest = 65_536;
const longestMessage = 300;

function* filters(document: View): Iterable<Problem> {
  for (const transform of document.get("transforms").items()) {
    if (transform.get("type").text !== "filter") continue;
    const feed = sourceFeed(document, transform.get("source_id").text);
    const fields = typed(feed.fields);
    const expression = transform.get("config", "expression");
    if (fields === undefined || expression.isBlank || (expression.text ?? "").length > longest) continue;
    const error = compileError(expression.text ?? "", fields);
    if (error === undefined) continue;
    yield expression.problemInside(error.offset, "EXPRESSION", {
      expected: `an expression over the fields of ${feed.name} that is true or false`,
      found: printable(`an error: ${sentence(error, expression.text ?? "")}`, longestMessage),
    });
  }
}

/** The compiler's sentence; its place in the expression is told only where the place in the file does not tell it. */
function sentence({ part, detail, message }: ExpressionError, expression: string): string {
  if (expression.includes("\n")) return message;
  return part === "" ? detail : `\`${part}\`: ${detail}`;
}

/** The fields with their types, where the type of each is known. */
function typed(fields: ReadonlyMap<string, FieldType | undefined> | undefined): SchemaField[] | undefined {
  const known = [...(fields ?? [])].flatMap(([name, type]) => (type === undefined ? [] : [{ name, type }]));
  return fields !== undefined && known.length === fields.size ? known : undefined;
}

function compileError(expression: string, fields: readonly SchemaField[]): ExpressionError | undefined {
  try {
    compileFilter(expression, fields);
    return undefined;
  } catch (error) {
    if (error instanceof ExpressionError) return error;
    throw error;
  }
}
