import * as fc from "fast-check";
import schema from "../../../schemas/pipeline-v2.schema.json" with { type: "json" };

interface SchemaNode {
  $ref?: string;
  type?: string[] | string;
  format?: string;
  properties?: Record<string, SchemaNode>;
  items?: SchemaNode;
}

const definitions = schema.definitions as unknown as Readonly<Record<string, SchemaNode>>;

/** Any value that the schema of v2 decodes, with the words that mean something among its texts. */
function decodable(node: SchemaNode): fc.Arbitrary<unknown> {
  if (node.$ref !== undefined) return decodable(definitions[node.$ref.replace("#/definitions/", "")] ?? {});
  const [type] = [node.type ?? []].flat();
  const nothing = { arbitrary: fc.constant(null), weight: 1 };
  if (type === undefined) return fc.jsonValue({ maxDepth: 2 });
  return fc.oneof(nothing, { arbitrary: filled(node, type), weight: 9 });
}

const words = fc.constantFrom(
  "orders",
  "users",
  "id",
  "kafka",
  "otlp.logs",
  "webhook",
  "float",
  "$env",
  "c2VjcmV0",
  "",
);
const expressions = fc.constantFrom("id > 1", "user.id + x", "a(", "let x = id; x", "$env.k", "tags[0]", "// c");

function filled({ properties, items, format }: SchemaNode, type: string): fc.Arbitrary<unknown> {
  if (format === "duration") return fc.constantFrom("1h", "0s", "30s", "-1s", "200h");
  if (type === "string") return fc.oneof(words, expressions, fc.string());
  if (type === "integer") return fc.integer({ min: -2, max: 5 });
  if (type === "boolean") return fc.boolean();
  if (type === "array") return fc.array(decodable(items ?? {}), { maxLength: 3 });
  const members = Object.entries(properties ?? {}).map(([key, node]) => [key, decodable(node)] as const);
  return fc.record(Object.fromEntries(members), { requiredKeys: [] });
}

const sides = fc.constant({
  enabled: true,
  sources: [
    { source_id: "orders", join_key: "id", time_window: "1h", orientation: "left" },
    { source_id: "users", join_key: "id", time_window: "1h", orientation: "right" },
  ],
});
/** Documents that are of the types of v2, each field missing, null or filled, with words among its texts that mean something. */
export const v2Documents: fc.Arbitrary<Record<string, unknown>> = fc
  .tuple(filled(schema as unknown as SchemaNode, "object"), fc.oneof(fc.constant({ enabled: false }), sides))
  .map(([document, join]) => ({ ...(document as object), join }));
