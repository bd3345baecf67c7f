import type { MemberNode, MethodNode, Node, SliceNode } from "../syntax/ast.ts";
import type { Checker, TypeScope } from "./check.ts";
import { methodGives } from "../values/methods.ts";
import { nearest } from "../syntax/nearest.ts";
import { integer, isNumber, isUnknown, itemOf, named, type Type, unknown } from "../values/types.ts";

/** `object.key` and `object[key]`. */
export function checkMember(checker: Checker, node: MemberNode, scope: TypeScope): Type {
  const name = node.key.kind === "literal" && typeof node.key.value === "string" ? node.key.value : undefined;
  if (node.object.kind === "name" && node.object.name === "$env" && !scope.variables.has("$env")) {
    return fieldOfRecord(checker, node, name, scope);
  }
  const object = checker.type(node.object, scope);
  const key = checker.type(node.key, scope);
  if (isUnknown(object)) return unknown;
  if (object.kind === "map") return keyOf(checker, node, object, key, name);
  if (object.kind === "array" && isPosition(key)) return itemOf(object);
  if (object.kind === "array")
    return checker.mismatch(node.key, `an item of an array has a number, found ${named(key)}`);
  return checker.mismatch(node, `expected a map or an array before this, found ${named(object)}`);
}

function fieldOfRecord(checker: Checker, node: MemberNode, name: string | undefined, scope: TypeScope): Type {
  if (name === undefined) checker.branch(node.key, scope);
  // It may name a field that is not declared, which is nil where an event lacks it.
  return (name === undefined ? undefined : checker.environment?.fields?.get(name)) ?? unknown;
}

function keyOf(checker: Checker, node: MemberNode, object: Type, key: Type, name: string | undefined): Type {
  if (key.kind !== "string" && !isUnknown(key) && object.item === undefined) {
    return checker.mismatch(node.key, `the key of a map is a text, found ${named(key)}`);
  }
  if (name === undefined || object.fields === undefined) return itemOf(object);
  return object.fields.get(name) ?? undeclared(checker, node, name, [...object.fields.keys()]);
}

/** A nested field that is not declared may be there, unlike a top-level name: an event keeps all that it has. */
function undeclared(checker: Checker, { key }: MemberNode, name: string, fields: readonly string[]): Type {
  const similar = nearest(name, fields);
  if (similar !== "") checker.doubt(key, `the schema declares no such field here${similar}`);
  return unknown;
}

export function checkSlice(checker: Checker, { object, from, to }: SliceNode, scope: TypeScope): Type {
  const type = checker.type(object, scope);
  for (const end of [from, to]) {
    const position = end === undefined ? integer : beside(checker, type, end, scope);
    if (end !== undefined && !isPosition(position))
      checker.mismatch(end, `the end of a slice is a number, found ${named(position)}`);
  }
  if (isUnknown(type) || type.kind === "string" || type.kind === "array") return type;
  return checker.mismatch(object, `expected an array or a text to slice, found ${named(type)}`);
}

/** What stands beside an object of unknown kind runs only if that object has what is asked of it. */
function beside(checker: Checker, object: Type, node: Node, scope: TypeScope): Type {
  return isUnknown(object) ? checker.branch(node, scope) : checker.type(node, scope);
}

function isPosition(type: Type): boolean {
  return isNumber(type) || isUnknown(type);
}

/** Checks `object.name(args)`: only times, durations, time zones, months and weekdays have methods. */
export function checkMethod(checker: Checker, node: MethodNode, scope: TypeScope): Type {
  const object = checker.type(node.object, scope);
  for (const argument of node.args) beside(checker, object, argument, scope);
  if (isUnknown(object)) return unknown;
  const gives = methodGives(object.kind, node.name);
  return gives ?? checker.mismatch(node, `${named(object)} has no method ${node.name}`);
}
