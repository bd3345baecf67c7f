import type { FieldType } from "./pipeline.ts";

const basicTypes: readonly (readonly [FieldType, readonly string[]])[] = [
  ["string", ["bytes", "datetime"]],
  ["bool", ["boolean"]],
  ["int", ["int8", "int16", "int32", "int64", "integer"]],
  ["uint", ["uint8", "uint16", "uint32", "uint64"]],
  ["float", ["float32", "float64", "number"]],
  ["array", ["[]string"]],
  ["map", ["object"]],
];

const byName = new Map(basicTypes.flatMap(([basic, names]) => [basic, ...names].map((name) => [name, basic] as const)));

/**
 * The basic type that a type name stands for (specification, v3 configuration 2.3). Also takes the names that only a
 * stateless output may have. Throws a RangeError for a name that the schema does not allow.
 */
export function basicType(name: string): FieldType {
  const basic = byName.get(name);
  if (basic === undefined) throw new RangeError(`expected the name of a field type, got "${name}"`);
  return basic;
}
