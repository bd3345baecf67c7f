import schema from "./pipeline-v3.schema.json" with { type: "json" };

/**
 * The class of change that a field needs, from the least to the most: nothing; applied to the running pipeline; a stop,
 * an edit and a resume; the same with state lost; not possible.
 */
export const effects = ["none", "hot", "restart", "forget", "refuse"] as const;
export type Effect = (typeof effects)[number];

/** The highest of the classes; `none` for an empty list. */
export function highest(given: Iterable<Effect>): Effect {
  let top: Effect = "none";
  for (const effect of given) if (effects.indexOf(effect) > effects.indexOf(top)) top = effect;
  return top;
}

/** A part of the JSON Schema with our annotations. */
export interface SchemaNode {
  $ref?: string;
  title?: string;
  description?: string;
  type?: string | string[];
  const?: string;
  enum?: string[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  required?: string[];
  properties?: Record<string, SchemaNode>;
  /** Of a mapping whose keys the file chooses. */
  additionalProperties?: SchemaNode | boolean;
  items?: SchemaNode;
  oneOf?: SchemaNode[];
  default?: unknown;
  examples?: unknown[];
  "x-effect"?: Effect;
  "x-effect-with-dedup"?: Effect;
  "x-secret"?: boolean;
  "x-expected"?: string;
  /** The default in words, if it is not a constant. */
  "x-default"?: string;
  /** A further rule, in words. */
  "x-rule"?: string;
}

export const rootNode = schema as unknown as SchemaNode;

const definitions = schema.definitions as unknown as Readonly<Record<string, SchemaNode>>;

/** Nodes that have a `$ref`, with its keywords: each value of each document is looked up. */
const targeted = new WeakMap<SchemaNode, SchemaNode>();

/** A node with the keywords of its `$ref`; its own win. */
export function resolved(node: SchemaNode): SchemaNode {
  if (node.$ref === undefined) return node;
  const known = targeted.get(node);
  if (known !== undefined) return known;
  const whole = { ...definitions[node.$ref.replace("#/definitions/", "")], ...node };
  targeted.set(node, whole);
  return whole;
}

/**
 * The path of a field in a document. In a list any segment means an entry: its index, or a name that the caller chose.
 */
export type Path = readonly (string | number)[];

/**
 * The class of change at `path`, from the annotation of the schema: that of the deepest annotated field on the path,
 * the highest if variants of a source or transform share a field. `withDedup` says that the source of a
 * `resources.transform` entry has a dedup transform, which makes its replicas immutable. Throws a RangeError for a path
 * that the schema does not know.
 */
export function effectOf(path: Path, { withDedup = false } = {}): Effect {
  const fields = nodesAt(path);
  if (fields.length === 0) throw new RangeError(`expected a field of the v3 format, got "${path.join(".")}"`);
  return highest(
    fields.map((field) => (withDedup ? field["x-effect-with-dedup"] : undefined) ?? field["x-effect"] ?? "restart"),
  );
}

/** Stands for any entry of a list. */
const anyEntry = "[]";

/** The paths of every secret of the format. */
const secrets: readonly (readonly string[])[] = [...secretsIn(rootNode, [])];

function* secretsIn(node: SchemaNode, path: readonly string[]): Iterable<readonly string[]> {
  const { properties = {}, items = entryOf(resolved(node)), oneOf = [], "x-secret": secret } = resolved(node);
  if (secret === true) yield path;
  for (const [key, property] of Object.entries(properties)) yield* secretsIn(property, [...path, key]);
  if (items !== undefined) yield* secretsIn(items, [...path, anyEntry]);
  for (const variant of oneOf) yield* secretsIn(variant, path);
}

/** The names of all fields of the format. */
export const fieldNames: ReadonlySet<string> = new Set(namesIn(rootNode));

/** What the values of a mapping are whose keys the file chooses; undefined for any other node. */
export function entryOf({ additionalProperties }: SchemaNode): SchemaNode | undefined {
  return typeof additionalProperties === "object" ? additionalProperties : undefined;
}

function* namesIn(node: SchemaNode): Iterable<string> {
  const { properties = {}, items = entryOf(resolved(node)), oneOf = [] } = resolved(node);
  for (const [name, property] of Object.entries(properties)) {
    yield name;
    yield* namesIn(property);
  }
  for (const below of items === undefined ? oneOf : [items, ...oneOf]) yield* namesIn(below);
}

/** Whether the value at `path`, or a value that holds it, must never be shown. */
export function isSecret(path: Path): boolean {
  return secrets.some((secret) => {
    if (secret.length > path.length) return false;
    return secret.every((segment, index) => segment === anyEntry || segment === path[index]);
  });
}

/** The JSON types that the field at `path` takes; none where the format has no such field. */
export function typesAt(path: Path): ReadonlySet<string> {
  return new Set(nodesAt(path).flatMap(({ type, enum: values }) => type ?? (values === undefined ? [] : ["string"])));
}

/** The nodes that describe `path`, with the effect of the nearest annotated node around them. */
function nodesAt(path: Path): SchemaNode[] {
  let nodes: SchemaNode[] = [rootNode];
  for (const segment of path) nodes = nodes.flatMap((node) => childrenOf(node, segment));
  return nodes;
}

function childrenOf(node: SchemaNode, segment: string | number): SchemaNode[] {
  const { properties, items = entryOf(resolved(node)), oneOf } = resolved(node);
  const own = properties !== undefined && Object.hasOwn(properties, segment) ? properties[segment] : items;
  const effect = node["x-effect"];
  const inherited = own && { ...(effect && { "x-effect": effect }), ...resolved(own) };
  return [
    ...(inherited === undefined ? [] : [inherited]),
    ...(oneOf ?? []).flatMap((variant) => childrenOf(variant, segment)),
  ];
}
