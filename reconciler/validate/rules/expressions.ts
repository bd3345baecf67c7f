import {
  checkTransforms,
  CompileBudgetExceeded,
  compileFilter,
  ExpressionError,
  MisspeltField,
} from "../../../engine/language.ts";
import { parseDuration, printDuration, type SchemaField } from "../../../schemas/index.ts";
import { printable, type Problem } from "../../language/problem.ts";
import type { Rule, View } from "../../language/view.ts";
import { sourceFeed, typedFields } from "./feeds.ts";

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
    const fields = typedFields(feed);
    const expression = transform.get("config", "expression");
    if (fields === undefined || !isReadable(expression)) continue;
    const found = compiled(() => compileFilter(expression.text ?? "", fields, document.document.compileBudget));
    if (found instanceof ExpressionError) {
      yield unfit(expression, found, `over the fields of ${feed.name} that is true or false`);
    } else for (const warning of found.warnings) yield doubtful(expression, warning);
  }
}

function* outputs(document: View): Iterable<Problem> {
  for (const stateless of document.transforms("stateless").slice(0, 1)) {
    const feed = sourceFeed(document, stateless.get("source_id").text);
    const fields = typedFields(feed);
    if (fields === undefined) continue;
    const expressions = stateless
      .get("config", "transforms")
      .items()
      .map((output) => output.get("expression"));
    yield* judged(distinct(expressions.filter(isReadable)), fields, `over the fields of ${feed.name}`);
  }
}

/** The first of each text: an alias may repeat a long one very often. */
function distinct(expressions: readonly View[]): View[] {
  return [...new Map(expressions.toReversed().map((view) => [view.text, view])).values()].toReversed();
}

function* judged(expressions: readonly View[], fields: readonly SchemaField[], what: string): Iterable<Problem> {
  const [first] = expressions;
  if (first === undefined) return;
  const list = expressions.map(({ text = "" }) => ({ expression: text, output_name: "", output_type: "map" }));
  let at = 0;
  for (const found of checkTransforms(list, fields, first.document.compileBudget)) {
    const view = expressions[at] ?? first;
    if (found instanceof ExpressionError) yield unfit(view, found, what);
    else for (const warning of found.warnings) yield doubtful(view, warning);
    at += 1;
  }
}

function isReadable(expression: View): boolean {
  return !expression.isBlank && (expression.text ?? "").length <= longest;
}

function unfit(expression: View, error: ExpressionError, what: string): Problem {
  const isCostly = error.cause instanceof CompileBudgetExceeded;
  return expression.problemInside(error.offset, isCostly ? "EXPRESSION_COST" : "EXPRESSION", {
    expected: isCostly ? "patterns that compile within the limits of a file" : `an expression ${what}`,
    found: printable(`an error: ${sentence(error, expression.text ?? "")}`, longestMessage),
    suggestion: inHours(error),
  });
}

/** It may be meant: events on which the code does not run are not concerned, and events may have fields that are not declared. */
function doubtful(expression: View, warning: ExpressionError): Problem {
  if (warning.cause instanceof MisspeltField) {
    return expression.problemInside(warning.offset, "EXPRESSION_FIELD", {
      expected: "a declared field",
      found: printable(sentence(warning, expression.text ?? ""), longestMessage),
    });
  }
  return expression.problemInside(warning.offset, "EXPRESSION_BRANCH", {
    expected: "code that can run",
    found: printable(`an error where it runs: ${sentence(warning, expression.text ?? "")}`, longestMessage),
  });
}

/** The compiler's message, with the place in the expression unless the place in the file shows it. */
function sentence({ part, detail, line, column }: ExpressionError, expression: string): string {
  const said = part === "" ? detail : `\`${part}\`: ${detail}`;
  return expression.includes("\n") ? `${said} (line ${line}, column ${column})` : said;
}

/** Settings accept days, expressions do not. */
function inHours({ part }: ExpressionError): string | undefined {
  const [, days] = /duration\(\s*["']([^"']*\dd[^"']*)["']/.exec(part) ?? [];
  const length = days === undefined ? undefined : parseDuration(days);
  return length === undefined ? undefined : `write "${printDuration(length).replace(/(\D)0m0s$/, "$1")}"`;
}

/** What was compiled, or why it cannot be. */
function compiled<T>(compile: () => T): T | ExpressionError {
  try {
    return compile();
  } catch (error) {
    if (error instanceof ExpressionError) return error;
    throw error;
  }
}
