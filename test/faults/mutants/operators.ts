import { parseAst } from "vitest/node";

/** A change of a source that its tests should notice. */
export interface Mutation {
  /** Where the expression or the statement is that it changes, as offsets in the text. */
  start: number;
  end: number;
  /** What replaces an expression. A statement is left out. */
  as: { expression: string } | "left out";
}

/** A node of the syntax tree: what all kinds have. */
interface Node {
  type: string;
  start: number;
  end: number;
  [field: string]: unknown;
}

/** A node, and what it is in. */
interface Place {
  node: Node;
  parent: Node | undefined;
  grandparent: Node | undefined;
  text: string;
}

const swappedOperators: Readonly<Record<string, string>> = {
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "===": "!==",
  "!==": "===",
  "&&": "||",
  "||": "&&",
  "+": "-",
  "-": "+",
  "+=": "-=",
  "-=": "+=",
};

const swappedMethods: Readonly<Record<string, string>> = { some: "every", every: "some", min: "max", max: "min" };

/** Greater numbers are sizes and times that someone chose: one more or less of them is no fault. */
const greatestNumber = 2;

/** All mutations of a source. Types, comments and texts have none. */
export function mutationsOf(text: string): Mutation[] {
  const program = parseAst(text, { lang: "ts" }) as unknown as Node;
  return [...placesIn({ node: program, parent: undefined, grandparent: undefined, text })].flatMap((place) =>
    operators.flatMap((operator) => operator(place) ?? []),
  );
}

function* placesIn(place: Place): Generator<Place> {
  const { node, parent, text } = place;
  yield place;
  for (const child of childrenOf(node)) yield* placesIn({ node: child, parent: node, grandparent: parent, text });
}

/** Without types: of a node of TypeScript, only the expression that has the type. */
function childrenOf(node: Node): Node[] {
  const fields = node.type.startsWith("TS") ? [node["expression"]] : Object.values(node);
  return fields.flat().filter(isNode);
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && "start" in value;
}

type Operator = (place: Place) => Mutation | undefined;

const operators: readonly Operator[] = [
  negatedCondition,
  swappedOperator,
  swappedMethod,
  flippedBoolean,
  nextNumber,
  noCall,
  noEarlyReturn,
];

function negatedCondition({ node, parent, text }: Place): Mutation | undefined {
  const isCondition = parent !== undefined && parent["test"] === node && parent.type !== "ForStatement";
  // Those have the same mutation as an operator and as a literal.
  const isNegatedElsewhere = isEquality(node) || node.type === "Literal";
  if (!isCondition || parent.type === "SwitchCase" || isNegatedElsewhere) return undefined;
  return replaced(node, `!(${text.slice(node.start, node.end)})`);
}

function isEquality({ type, operator }: Node): boolean {
  return type === "BinaryExpression" && (operator === "===" || operator === "!==");
}

function swappedOperator({ node, text }: Place): Mutation | undefined {
  const { operator, left, right } = node;
  if (typeof operator !== "string" || !isNode(left) || !isNode(right)) return undefined;
  const swapped = swappedOperators[operator];
  if (swapped === undefined || isText(node)) return undefined;
  const between = text.slice(left.end, right.start);
  const at = left.end + withoutComments(between).indexOf(operator);
  return replaced(node, text.slice(node.start, at) + swapped + text.slice(at + operator.length, node.end));
}

/** Of the same length. */
function withoutComments(text: string): string {
  return text.replace(/\/\*[^]*?\*\/|\/\/[^\n]*/g, (comment) => " ".repeat(comment.length));
}

/** Whether texts are put together, as far as the source shows it. */
function isText({ type, value, operator, left, right }: Node): boolean {
  if (type === "TemplateLiteral" || typeof value === "string") return true;
  const isSum = operator === "+" || operator === "+=";
  return isSum && [left, right].some((operand) => isNode(operand) && isText(operand));
}

/** In the whole chain of `?.` that the call is in: a chain that is cut in two does not end where it did. */
function swappedMethod({ node, parent, grandparent, text }: Place): Mutation | undefined {
  if (node.type !== "CallExpression") return undefined;
  const { callee } = node;
  if (!isNode(callee) || callee.type !== "MemberExpression" || !isNode(callee["property"])) return undefined;
  const { name, start, end } = callee["property"];
  const isKnown = typeof name === "string" && Object.hasOwn(swappedMethods, name);
  const swapped = isKnown ? swappedMethods[name] : undefined;
  const chain = [parent, grandparent].find((outer) => outer?.type === "ChainExpression") ?? node;
  if (swapped === undefined) return undefined;
  return replaced(chain, text.slice(chain.start, start) + swapped + text.slice(end, chain.end));
}

function flippedBoolean({ node }: Place): Mutation | undefined {
  const { type, value } = node;
  return type === "Literal" && typeof value === "boolean" ? replaced(node, String(!value)) : undefined;
}

function nextNumber({ node, parent }: Place): Mutation | undefined {
  const { type, value } = node;
  const isKey = parent?.["key"] === node;
  if (type !== "Literal" || isKey) return undefined;
  if (typeof value === "number" && value <= greatestNumber) return replaced(node, String(value + 1));
  if (typeof value === "bigint" && value <= greatestNumber) return replaced(node, `${value + 1n}n`);
  return undefined;
}

function noCall({ node }: Place): Mutation | undefined {
  if (node.type !== "ExpressionStatement") return undefined;
  const call = called(node["expression"]);
  const isSuper = isNode(call?.["callee"]) && call["callee"].type === "Super";
  return call === undefined || isSuper ? undefined : { start: node.start, end: node.end, as: "left out" };
}

/** The call of `f()`, `a?.f()`, `await f()` and `void f()`. */
function called(expression: unknown): Node | undefined {
  if (!isNode(expression)) return undefined;
  const { type, argument, operator } = expression;
  if (type === "CallExpression") return expression;
  if (type === "ChainExpression") return called(expression["expression"]);
  return type === "AwaitExpression" || operator === "void" ? called(argument) : undefined;
}

function noEarlyReturn({ node, parent, grandparent }: Place): Mutation | undefined {
  if (node.type !== "ReturnStatement") return undefined;
  const isBody = grandparent?.["body"] === parent && /Function/.test(grandparent?.type ?? "");
  const statements = parent?.["body"];
  const isLast = isBody && Array.isArray(statements) && statements.at(-1) === node;
  return isLast ? undefined : { start: node.start, end: node.end, as: "left out" };
}

function replaced({ start, end }: Node, expression: string): Mutation {
  return { start, end, as: { expression } };
}
