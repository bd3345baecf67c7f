import type { CallNode, Node } from "./ast.ts";
import { parameter } from "./calls.ts";
import type { FunctionDefinition } from "./catalog.ts";
import type { Checker, Surroundings } from "./check.ts";
import { nearest } from "./nearest.ts";
import { expected, mayTake } from "./parameters.ts";
import { predicates } from "./predicates.ts";
import { named } from "./types.ts";
import type { Type } from "./types.ts";

/** A call of a function of the catalog: it exists, and takes these arguments. */
export function checkCall(checker: Checker, node: CallNode, around: Surroundings): Type {
  const definition = checker.functions.get(node.name);
  if (definition === undefined) {
    const names = [...checker.functions.keys(), ...predicates.keys()];
    return checker.refuse(node, `unknown function ${node.name}${nearest(node.name, names)}`);
  }
  checkCount(checker, node, definition);
  const types = node.args.map((argument, index) => {
    const type = checker.type(argument, around);
    checkArgument(checker, node.name, definition, index, argument, type);
    return type;
  });
  return typeof definition.gives === "function" ? definition.gives(types) : definition.gives;
}

function checkCount(checker: Checker, node: CallNode, { takes, optional = 0, rest }: FunctionDefinition): void {
  const least = takes.length - optional;
  const most = rest === undefined ? takes.length : Infinity;
  refuseCount(checker, node, least, most);
}

/** Throws unless the call has between `least` and `most` arguments. */
export function refuseCount(checker: Checker, node: CallNode, least: number, most: number): void {
  const count = node.args.length;
  if (count >= least && count <= most) return;
  const range = most === Infinity ? `at least ${least}` : least === most ? String(least) : `${least} to ${most}`;
  checker.refuse(node, `${node.name} takes ${range} argument${range.endsWith("1") ? "" : "s"}, found ${count}`);
}

function checkArgument(
  checker: Checker,
  name: string,
  definition: FunctionDefinition,
  index: number,
  argument: Node,
  type: Type,
): void {
  const wanted = parameter(definition, index);
  if (mayTake(wanted, type)) return;
  const hint = wanted === "int" && type.kind === "integral" ? ": the numbers of an event are floats, write int(…)" : "";
  checker.refuse(argument, `${name} expects ${expected(wanted)}, found ${named(type)}${hint}`);
}
