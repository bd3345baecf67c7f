import schema from "./pipeline-v3.schema.json" with { type: "json" };
import type { Effect } from "./effect-class.ts";

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
  required?: string[];
  properties?: Record<string, SchemaNode>;
  items?: SchemaNode;
  oneOf?: SchemaNode[];
  default?: unknown;
  examples?: unknown[];
  "x-effect"?: Effect;
  "x-effect-with-dedup"?: Effect;
  "x-secret"?: boolean;
  "x-expected"?: string;
  /** Where the default is no constant: what it is, in words. */
  "x-default"?: string;
  /** What else must hold, in words. */
  "x-rule"?: string;
}

export const rootNode = schema as unknown as SchemaNode;

const definitions = schema.definitions as unknown as Readonly<Record<string, SchemaNode>>;

/** What a node says with what it refers to; its own words win. */
export function resolved(node: SchemaNode): SchemaNode {
  const target = node.$ref === undefined ? undefined : definitions[node.$ref.replace("#/definitions/", "")];
  return { ...target, ...node };
}
