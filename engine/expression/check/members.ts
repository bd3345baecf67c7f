import type { MemberNode, MethodNode, SliceNode } from "../syntax/ast.ts";
import type { Checker, TypeScope } from "./check.ts";
import { hasMethod } from "../values/methods.ts";
import { nearest } from "./calls.ts";
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
  if (name === undefined) checker.type(node.key, scope);
  // It may name a field that is not declared, which is nil where an event lacks it.
  return (name === undefined ? undefined : checker.environment?.fields?.get(name)) ?? unknown;
}

function keyOf(checker: Checker, node: MemberNode, object: Type, key: Type, name: string | undefined): Type {
  if (key.kind !== "string" && !isUnknown(key) && object.item === undefined) {
    return checker.mismatch(node.key, `the key of a map is a text, found ${named(key)}`);
  }
  if (name === undefined || object.fields === undefined) return itemOf(object);
  const known = object.fields.get(name);
  return (
    known ??
    checker.refuse(
      node.key,
      `unknown field: the schema declares no such field here${nearest(name, [...object.fields.keys()])}`,
    )
  );
}

export function checkSlice(checker: Checker, { object, from, to }: SliceNode, scope: TypeScope): Type {
  const type = checker.type(object, scope);
  for (const end of [from, to]) {
    const position = end === undefined ? integer : checker.type(end, scope);
    if (end !== undefined && !isPosition(position))
      checker.mismatch(end, `the end of a slice is a number, found ${named(position)}`);
  }
  if (isUnknown(type) || type.kind === "string" || type.kind === "array") return type;
  return checker.mismatch(object, `expected an array or a text to slice, found ${named(type)}`);
}

function isPosition(type: Type): boolean {
  return isNumber(type) || isUnknown(type);
}

/** Checks `object.name(args)`: only times and durations have methods. */
export function checkMethod(checker: Checker, node: MethodNode, scope: TypeScope): Type {
  const object = checker.type(node.object, scope);
  for (const argument of node.args) checker.type(argument, scope);
  if (isUnknown(object) || hasMethod(object.kind, node.name)) return unknown;
  return checker.mismatch(node, `${named(object)} has no method ${node.name}`);
}
