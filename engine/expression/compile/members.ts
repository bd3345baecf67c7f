import { member, slice } from "../values/access.ts";
import type { MemberNode, MethodNode, Node, SliceNode } from "../syntax/ast.ts";
import type { Compiler } from "./compile.ts";
import type { Code, Frame, Scope } from "./frame.ts";
import { keyReader } from "../../event/field-path.ts";
import { method } from "../values/methods.ts";
import type { TextMap } from "../values/values.ts";

type Step = (object: unknown, frame: Frame) => unknown;

/** A chain of members that ended at a nil before `?.` is undefined within the chain and nil outside of it. */
export function compileChain(compiler: Compiler, node: MemberNode | MethodNode, scope: Scope): Code {
  const link = compileLink(compiler, node, scope);
  return mayEnd(node) ? (frame) => link(frame) ?? null : link;
}

/** One member of a chain, with those before it. */
function compileLink(compiler: Compiler, node: MemberNode | MethodNode, scope: Scope): Code {
  const continues = isLink(node.object) && !(node.kind === "member" && node.computed);
  const object = continues ? compileLink(compiler, node.object, scope) : compiler.code(node.object, scope);
  const step = node.kind === "method" ? methodStep(compiler, node, scope) : memberStep(compiler, node, scope);
  if (!node.optional && !(continues && mayEnd(node.object))) return (frame) => step(object(frame), frame);
  const { optional } = node;
  return (frame) => {
    const found = object(frame);
    return found === undefined || (optional && found === null) ? undefined : step(found, frame);
  };
}

function memberStep(compiler: Compiler, { key, ...span }: MemberNode, scope: Scope): Step {
  const fail = compiler.fail(span);
  if (key.kind === "literal" && typeof key.value === "string" && !(key.value in Object.prototype)) {
    const name = key.value;
    const read = keyReader(name);
    return (object) => {
      const isPlain =
        typeof object === "object" && object !== null && Object.getPrototypeOf(object) === Object.prototype;
      return isPlain ? (read(object as TextMap) ?? null) : member(object, name, fail);
    };
  }
  const at = compiler.code(key, scope);
  return (object, frame) => member(object, at(frame), fail);
}

function methodStep(compiler: Compiler, { name, args, ...span }: MethodNode, scope: Scope): Step {
  const codes = args.map((argument) => compiler.code(argument, scope));
  const fail = compiler.fail(span);
  return (object, frame) =>
    method(
      object,
      name,
      codes.map((code) => code(frame)),
      fail,
    );
}

export function compileSlice(compiler: Compiler, { object, from, to, ...span }: SliceNode, scope: Scope): Code {
  const value = compiler.code(object, scope);
  const first = from === undefined ? undefined : compiler.code(from, scope);
  const last = to === undefined ? undefined : compiler.code(to, scope);
  const fail = compiler.fail(span);
  return (frame) => slice(value(frame), first?.(frame), last?.(frame), fail, frame.budget);
}

function isLink(node: Node): node is MemberNode | MethodNode {
  return node.kind === "member" || node.kind === "method";
}

/** Whether the chain that ends in `node` may end at a nil before `?.`. */
function mayEnd(node: Node): boolean {
  if (!isLink(node)) return false;
  return node.optional || (!(node.kind === "member" && node.computed) && mayEnd(node.object));
}
