import type { Fail } from "./arithmetic.ts";
import type { CallNode } from "./ast.ts";
import type { Call, FunctionDefinition, Parameter } from "./catalog.ts";
import type { Compiler } from "./compile.ts";
import type { Code } from "./frame.ts";
import { expected, isGuarded, takes } from "./parameters.ts";
import type { Scope } from "./scope.ts";
import { kindOf } from "./values.ts";

/** The call of a function of the catalog. The number of arguments has been checked; their kinds are checked here. */
export function compileCall(compiler: Compiler, node: CallNode, scope: Scope): Code {
  const definition = compiler.functions.get(node.name);
  if (definition === undefined) throw new Error(`function ${node.name} passed the check and does not exist`);
  const { frame } = compiler;
  const call: Call = { fail: compiler.fail(node), budget: frame.budget, clock: () => frame.clock };
  const codes = node.args.map((argument, index) => {
    return guarded(compiler.code(argument, scope), parameter(definition, index), compiler.fail(argument), node.name);
  });
  return applied(definition, call, codes);
}

export function parameter({ takes: listed, rest }: FunctionDefinition, index: number): Parameter {
  return listed[index] ?? rest ?? "any";
}

function guarded(code: Code, wanted: Parameter, fail: Fail, name: string): Code {
  if (!isGuarded(wanted)) return code;
  const quick = wanted === "string" ? "string" : undefined;
  return (frame) => {
    const value = code(frame);
    if (typeof value === quick) return value;
    const kind = kindOf(value);
    return takes(wanted, kind) ? value : fail(`${name} expects ${expected(wanted)}, found ${kind}`);
  };
}

/** Calls with up to three arguments make no array of them. */
function applied({ run }: FunctionDefinition, call: Call, codes: readonly Code[]): Code {
  const [a, b, c] = codes;
  if (a === undefined) return () => run(call);
  if (b === undefined) return (frame) => run(call, a(frame));
  if (c === undefined) return (frame) => run(call, a(frame), b(frame));
  if (codes.length === 3) return (frame) => run(call, a(frame), b(frame), c(frame));
  return (frame) => run(call, ...codes.map((code) => code(frame)));
}
