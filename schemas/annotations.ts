import schema from "./pipeline-v3.schema.json" with { type: "json" };

/**
 * Which calls a change of a field needs, from the least to the most: none; it is applied to the running pipeline; a stop,
 * an edit and a resume; it is not possible.
 */
export const effects = ["none", "hot", "restart", "refuse"] as const;
export type Effect = (typeof effects)[number];

/**
 * What becomes of events once a field has changed, from the least to the most: the same as before; other events become
 * rows, or other rows come of them; some are lost, or what a pipeline remembers of them is.
 */
export const eventEffects = ["same", "rows", "forget"] as const;
export type EventEffect = (typeof eventEffects)[number];

/** The highest of the effects; `none` for an empty list. */
export function highest(given: Iterable<Effect>): Effect {
  return highestOf(effects, given);
}

/** The same of what becomes of events; `same` for an empty list. */
export function highestEvents(given: Iterable<EventEffect>): EventEffect {
  return highestOf(eventEffects, given);
}

function highestOf<One>(scale: readonly One[], given: Iterable<One>): One {
  return scale[Math.max(0, ...[...given].map((one) => scale.indexOf(one)))]!;
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
  /** Of a field with an enum it may depend on the new value. */
  "x-events"?: EventEffect | Readonly<Record<string, EventEffect>>;
  /** Where the field is taken out, if that is something else. */
  "x-events-removed"?: EventEffect;
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

/**
 * What becomes of events where the value at `path` is `to` from now on; undefined where it is the default. Like the effect,
 * it is that of the deepest annotated field on the path; without one it is that of the fields of `to`, or of the value
 * before, where that is a mapping.
 */
export function eventsOf(path: Path, to: unknown, before?: unknown): EventEffect {
  const found = nodesAt(path).map((field): EventEffect | undefined => {
    const annotated = field["x-events"];
    if (to === undefined && field["x-events-removed"] !== undefined) return field["x-events-removed"];
    if (typeof annotated !== "object") return annotated;
    return annotated[String(to ?? field.default)];
  });
  const known = found.filter((events) => events !== undefined);
  const below = { ...mappingOf(before), ...mappingOf(to) };
  if (known.length > 0 || Object.keys(below).length === 0) return highestEvents(known);
  return highestEvents(Object.keys(below).map((key) => eventsOf([...path, key], mappingOf(to)[key], below[key])));
}

function mappingOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
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

/** The nodes that describe `path`, with the effects of the nearest annotated nodes around them. */
function nodesAt(path: Path): SchemaNode[] {
  let nodes: SchemaNode[] = [rootNode];
  for (const segment of path) nodes = nodes.flatMap((node) => childrenOf(node, segment));
  return nodes;
}

function childrenOf(node: SchemaNode, segment: string | number): SchemaNode[] {
  const { properties, items = entryOf(resolved(node)), oneOf } = resolved(node);
  const own = properties !== undefined && Object.hasOwn(properties, segment) ? properties[segment] : items;
  const { "x-effect": effect, "x-events": events } = node;
  const above = { ...(effect && { "x-effect": effect }), ...(events && { "x-events": events }) };
  const inherited = own && { ...above, ...resolved(own) };
  return [
    ...(inherited === undefined ? [] : [inherited]),
    ...(oneOf ?? []).flatMap((variant) => childrenOf(variant, segment)),
  ];
}
