import { compileFilter, compileTransforms, ExpressionError } from "../../../engine/language.ts";
import { parseDuration, printDuration, type SchemaField } from "../../../schemas/index.ts";
import { printable, type Problem } from "../../language/problem.ts";
import type { Rule, View } from "../../language/view.ts";
import { sourceFeed, type Feed } from "./feeds.ts";

/** Expressions must compile against the fields of their source, as the engine will do it. */
export const expressionRules: readonly Rule[] = [filters, outputs];

/** Characters of an expression at most; the schema says the same. */
const longest = 65_536;
const longestMessage = 300;

/** Filters that are compiled at most; from the second on, each is an error anyway. */
const mostFilters = 10;

function* filters(document: View): Iterable<Problem> {
  for (const transform of document.transforms("filter").slice(0, mostFilters)) {
    const feed = sourceFeed(document, transform.get("source_id").text);
    const fields = typed(feed);
    const expression = transform.get("config", "expression");
    if (fields === undefined || !isReadable(expression)) continue;
    const error = refusal(() => compileFilter(expression.text ?? "", fields));
    if (error !== undefined) yield unfit(expression, error, `over the fields of ${feed.name} that is true or false`);
  }
}

function* outputs(document: View): Iterable<Problem> {
  for (const stateless of document.transforms("stateless").slice(0, 1)) {
    const feed = sourceFeed(document, stateless.get("source_id").text);
    const fields = typed(feed);
    if (fields === undefined) continue;
    const expressions = stateless
      .get("config", "transforms")
      .items()
      .map((output) => output.get("expression"));
    for (const { view, error } of failing(distinct(expressions.filter(isReadable)), fields))
      yield unfit(view, error, `over the fields of ${feed.name}`);
  }
}

/** The first of each text: an alias may repeat a long one very often. */
function distinct(expressions: readonly View[]): View[] {
  return [...new Map(expressions.toReversed().map((view) => [view.text, view])).values()].toReversed();
}

/** The expressions that do not compile. Compiles all at once, and halves only those that fail: mostly all compile. */
function* failing(
  expressions: readonly View[],
  fields: readonly SchemaField[],
): Iterable<{ view: View; error: ExpressionError }> {
  const list = expressions.map((view) => ({ expression: view.text ?? "", output_name: "o", output_type: "map" }));
  const error = list.length === 0 ? undefined : refusal(() => compileTransforms(list, fields));
  const [view] = expressions;
  if (error === undefined || view === undefined) return;
  if (expressions.length === 1) {
    yield { view, error };
    return;
  }
  const middle = expressions.length >> 1;
  yield* failing(expressions.slice(0, middle), fields);
  yield* failing(expressions.slice(middle), fields);
}

function isReadable(expression: View): boolean {
  return !expression.isBlank && (expression.text ?? "").length <= longest;
}

function unfit(expression: View, error: ExpressionError, what: string): Problem {
  return expression.problemInside(error.offset, "EXPRESSION", {
    expected: `an expression ${what}`,
    found: printable(`an error: ${sentence(error, expression.text ?? "")}`, longestMessage),
    suggestion: inHours(error),
  });
}

/** The compiler's message, with the place in the expression unless the place in the file shows it. */
function sentence({ part, detail, message }: ExpressionError, expression: string): string {
  if (expression.includes("\n")) return message;
  return part === "" ? detail : `\`${part}\`: ${detail}`;
}

/** Settings accept days, expressions do not. */
function inHours({ part }: ExpressionError): string | undefined {
  const [, days] = /duration\(\s*["']([^"']*\dd[^"']*)["']/.exec(part) ?? [];
  const length = days === undefined ? undefined : parseDuration(days);
  return length === undefined ? undefined : `write "${printDuration(length).replace(/(\D)0m0s$/, "$1")}"`;
}

/** The fields with their types, if the type of each is known. */
function typed({ fields }: Feed): SchemaField[] | undefined {
  const known: SchemaField[] = [];
  for (const [name, type] of fields ?? []) if (type !== undefined) known.push({ name, type });
  return fields !== undefined && known.length === fields.size ? known : undefined;
}

function refusal(compile: () => unknown): ExpressionError | undefined {
  try {
    compile();
    return undefined;
  } catch (error) {
    if (error instanceof ExpressionError) return error;
    throw error;
  }
}
