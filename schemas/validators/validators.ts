import type { ValidateFunction } from "ajv";
import { ownSchemas, schemas, type SchemaName } from "./ajv.ts";

export type { SchemaName };

/** The checks of the formats that a schema names, the same at each call. Any text is of another one. */
export type Formats = Readonly<Record<string, (text: string) => boolean>>;

const made = new Map<SchemaName, ValidateFunction>();

/**
 * The check of a document by a schema. Here it is compiled when first asked for. The built program has `built.ts` in place of this
 * module, where nothing is compiled: package.json says which of the two `#validators` is.
 */
export function validatorOf<T>(name: SchemaName, formats: Formats = {}): ValidateFunction<T> {
  const known = made.get(name) as ValidateFunction<T> | undefined;
  if (known !== undefined) return known;
  const { schema, options } = schemas[name];
  const validator = ownSchemas({ ...options, formats }).compile<T>(schema);
  made.set(name, validator);
  return validator;
}
