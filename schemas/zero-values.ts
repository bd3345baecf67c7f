import { resolved, rootNode, type SchemaNode } from "./annotations.ts";

/** Levels of a value that may be zero: an exporter writes `connection_params: {brokers: null}` at the most. */
const deepest = 3;
/** The pattern of a text that must have a character that is no space. */
const notBlank = String.raw`\S`;

/**
 * A document without what the exporter of the reference service writes for absent values (config-v3 section 8): null
 * for an optional block, zero values of keys that only another type of source or transform has, such as
 * `time_window: "0s"` in a filter, or an empty text where only one with characters is allowed. Returns a copy with the
 * changed parts. Null for a required key stays, and so do the keys of `x-sluice`, which no exporter writes.
 */
export function withoutZeroValues(document: Record<string, unknown>): Record<string, unknown> {
  const { "x-sluice": directives, ...exported } = document;
  const cleaned = cleanObject(exported, rootNode, []);
  return Object.hasOwn(document, "x-sluice") ? { ...cleaned, "x-sluice": directives } : cleaned;
}

/** `siblings`: what the object would be if it had another type. */
function clean(value: unknown, node: SchemaNode, siblings: readonly SchemaNode[]): unknown {
  const { items } = node;
  if (Array.isArray(value) && items !== undefined) return value.map((item) => cleanItem(item, items));
  return isObject(value) && node.properties !== undefined ? cleanObject(value, node, siblings) : value;
}

function cleanItem(item: unknown, { oneOf, ...node }: SchemaNode): unknown {
  if (oneOf === undefined) return clean(item, resolved(node), []);
  const variants = oneOf.map(resolved);
  const type = isObject(item) ? item["type"] : undefined;
  const own = variants.find(({ properties }) => hasType(properties?.["type"], type));
  return own === undefined ? item : clean(item, own, variants);
}

function cleanObject(
  value: Record<string, unknown>,
  node: SchemaNode,
  siblings: readonly SchemaNode[],
): Record<string, unknown> {
  const kept = Object.entries(value).flatMap(([key, of]): [string, unknown][] => {
    const others = siblings.flatMap((sibling) => propertyOf(sibling, key) ?? []);
    const own = propertyOf(node, key);
    if (own === undefined) return others.length > 0 && isZero(of, deepest) ? [] : [[key, of]];
    if (node.required?.includes(key) !== true && isAbsent(of, own)) return [];
    return [[key, clean(of, own, others)]];
  });
  return Object.fromEntries(kept);
}

/** Whether the value of an optional key means that there is none. */
function isAbsent(value: unknown, { pattern }: SchemaNode): boolean {
  return value === null || (value === "" && pattern === notBlank);
}

function propertyOf({ properties }: SchemaNode, key: string): SchemaNode | undefined {
  const property = properties !== undefined && Object.hasOwn(properties, key) ? properties[key] : undefined;
  return property && resolved(property);
}

function hasType(node: SchemaNode | undefined, type: unknown): boolean {
  return typeof type === "string" && (node?.const === type || node?.enum?.includes(type) === true);
}

function isZero(value: unknown, levels: number): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (isObject(value)) return levels > 0 && Object.values(value).every((one) => isZero(one, levels - 1));
  return value === null || value === "" || value === 0 || value === false || value === "0s";
}

/** Whether a value is a mapping. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
