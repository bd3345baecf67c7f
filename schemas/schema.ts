import type { ErrorObject } from "ajv";
import { type SchemaName, validatorOf } from "#validators";
import schema from "./pipeline-v3.schema.json" with { type: "json" };

/** One breach of the schema, with the breached part of the schema and the value that breaches it. */
export type SchemaError = ErrorObject<string, Record<string, unknown>> & {
  parentSchema?: Record<string, unknown> & { "x-code"?: string; "x-expected"?: string; "x-secret"?: boolean };
};

/** Every breach of the v3 schema by a tidied document; without one, it is a PipelineV3. */
export function schemaErrors(document: unknown): SchemaError[] {
  return errorsBy("pipeline-v3", document);
}

/** Every breach of a schema by a document. */
export function errorsBy(of: SchemaName, document: unknown): SchemaError[] {
  const validate = validatorOf(of);
  return validate(document) ? [] : ((validate.errors ?? []) as SchemaError[]);
}

/** The keys of the root of a v3 document. */
export const v3Keys: readonly string[] = Object.keys(schema.properties);

interface Variant {
  properties: Readonly<Record<string, { const?: string; enum?: readonly string[]; "x-effect"?: string }>>;
}

const definitions: Readonly<Record<string, unknown>> = schema.definitions;

/** The definitions of the entries of a list, by their types, in the order of the schema. */
function variantsOf(list: "sources" | "transforms"): [type: string, variant: Variant][] {
  return schema.properties[list].items.oneOf.flatMap(({ $ref }) => {
    const variant = definitions[$ref.slice("#/definitions/".length)] as Variant;
    const { type } = variant.properties;
    return (type?.enum ?? [type?.const ?? ""]).map((one): [string, Variant] => [one, variant]);
  });
}

const sourceVariants = variantsOf("sources");

/** The types that a source may have. */
export const sourceTypes: readonly string[] = sourceVariants.map(([type]) => type);

/** The types that a transform may have. */
export const transformTypes: readonly string[] = variantsOf("transforms").map(([type]) => type);

/** The types of the sources on which a key has an effect. */
export function sourceTypesWith(key: string): string[] {
  return sourceVariants.flatMap(([type, { properties }]) => {
    return Object.hasOwn(properties, key) && properties[key]?.["x-effect"] !== "none" ? [type] : [];
  });
}
