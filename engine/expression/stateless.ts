import type { SchemaField } from "../../schemas/pipeline.ts";
import type { Fail } from "./values/arithmetic.ts";
import { Budget, BudgetExceeded } from "./values/budget.ts";
import { CompileBudget } from "./values/compile-budget.ts";
import { check } from "./check/check.ts";
import { compile } from "./compile/compile.ts";
import { environment } from "./check/environment.ts";
import { ExpressionError } from "./syntax/errors.ts";
import { helpers } from "./functions/helpers.ts";
import { recordMaker } from "../event/field-path.ts";
import { conversion, outputTypes } from "./output-types.ts";
import { parse } from "./syntax/parser.ts";
import { mayBeNil, type Type } from "./values/types.ts";
import { compareTexts } from "./values/values.ts";
import type { TextMap } from "./values/values.ts";

/** One output of a stateless transform, as in the file. */
export interface TransformExpression {
  expression: string;
  output_name: string;
  output_type: string;
}

/** The compiled outputs of a stateless transform: make a new record from a record. */
export interface Transforms {
  /**
   * The record of the outputs alone, keys sorted. Every expression sees the original record. `clock` is the time of the
   * batch, in milliseconds since the epoch. Integers outside the safe range are bigints. Throws ExpressionError.
   */
  apply(record: Record<string, unknown>, clock: number): Record<string, unknown>;
  /** What fails where it runs, in code that runs for some events only, and nested fields that are probably misspelt, with their output. */
  readonly warnings: readonly ExpressionError[];
  /** The names of outputs that may be nil. */
  readonly nilable: ReadonlySet<string>;
}

interface Output {
  readonly name: string;
  readonly mayBeNil: boolean;
  /** The converted value. */
  readonly value: (record: TextMap, clock: number) => unknown;
  readonly warnings: readonly ExpressionError[];
}

/**
 * Compiles the outputs of a stateless transform, checked against the fields of its source; without fields every name is
 * allowed, and a name that the record lacks is nil. Of outputs with the same name the last counts, but all are
 * evaluated. Throws ExpressionError, which names the output.
 */
export function compileTransforms(
  list: readonly TransformExpression[],
  fields: readonly SchemaField[] | undefined,
): Transforms {
  const declared = fields === undefined ? undefined : environment(fields);
  const budget = new Budget();
  const limit = new CompileBudget();
  const outputs = list.map((output) => compileOutput(output, { declared, budget, limit }));
  const places = new Map(outputs.map(({ name }, index) => [name, index]));
  const names = [...places.keys()].toSorted(compareTexts);
  const indexes = names.map((name) => places.get(name) ?? 0);
  const make = recordMaker(names, indexes);
  const values: unknown[] = outputs.map(() => null);
  return {
    apply(record, clock) {
      budget.reset();
      evaluate(outputs, values, record, clock);
      return make(values);
    },
    warnings: outputs.flatMap(({ warnings }) => warnings),
    nilable: new Set(outputs.filter((output) => output.mayBeNil).map(({ name }) => name)),
  };
}

/**
 * Compiles each output of a stateless transform as `compileTransforms` does, and gives the error for which it does not
 * compile, or its warnings. `limit` is what compiling may cost.
 */
export function* checkTransforms(
  list: readonly TransformExpression[],
  fields: readonly SchemaField[],
  limit: CompileBudget,
): Iterable<ExpressionError | Pick<Output, "warnings">> {
  const tools = { declared: environment(fields), budget: new Budget(), limit };
  for (const output of list) {
    try {
      yield compileOutput(output, tools);
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      yield error;
    }
  }
}

function evaluate(outputs: readonly Output[], values: unknown[], record: TextMap, clock: number): void {
  let index = 0;
  try {
    for (; index < outputs.length; index += 1) values[index] = outputs[index]?.value(record, clock);
  } catch (error) {
    throw error instanceof ExpressionError ? error.of(outputs[index]?.name ?? "") : error;
  }
}

interface CompileTools {
  declared: Type | undefined;
  /** Limits the size of all outputs of one record together. */
  budget: Budget;
  limit: CompileBudget;
}

function compileOutput(
  { expression, output_name, output_type }: TransformExpression,
  { declared, budget, limit }: CompileTools,
): Output {
  const whole = { start: 0, end: expression.length };
  try {
    if (expression.trim() === "") throw new ExpressionError("compile", expression, whole, "the expression is blank");
    const root = parse(expression);
    const { type, warnings } = check(root, expression, helpers, declared, limit);
    const convert = conversion(output_type);
    if (convert === undefined) {
      const detail = `unknown output_type ${output_type}: expected one of ${outputTypes().join(", ")}`;
      throw new ExpressionError("compile", expression, whole, detail);
    }
    const fail: Fail = (detail) => {
      throw new ExpressionError("evaluate", expression, root, detail);
    };
    const program = compile(root, expression, helpers);
    const converting = { fail, budget };
    const value: Output["value"] = (record, clock) => {
      const found = program(record, clock);
      try {
        return convert(found, converting);
      } catch (error) {
        if (!(error instanceof BudgetExceeded)) throw error;
        return fail("the outputs of one record are larger than the limit");
      }
    };
    const own = warnings.map((warning) => warning.of(output_name));
    return { name: output_name, mayBeNil: mayBeNil(type), value, warnings: own };
  } catch (error) {
    throw error instanceof ExpressionError ? error.of(output_name) : error;
  }
}
