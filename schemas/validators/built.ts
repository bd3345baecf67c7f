import { createRequire } from "node:module";
import type { ValidateFunction } from "ajv";
import type { Formats, SchemaName } from "./validators.ts";

const require = createRequire(import.meta.url);
const made = new Map<SchemaName, ValidateFunction>();

/** In the built program: takes the code of `code.ts`, which the build puts beside it. */
export function validatorOf<T>(name: SchemaName, formats: Formats = {}): ValidateFunction<T> {
  const known = made.get(name) as ValidateFunction<T> | undefined;
  if (known !== undefined) return known;
  const make = require(`./${name}.cjs`) as (formats: Formats) => ValidateFunction<T>;
  const validator = make(formats);
  made.set(name, validator);
  return validator;
}
