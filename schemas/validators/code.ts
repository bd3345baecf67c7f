import { _ } from "ajv";
import standalone from "ajv/dist/standalone/index.js";
import { ownSchemas, schemas } from "./ajv.ts";
import type { SchemaName } from "./validators.ts";

/** Stands for the check of a format. */
const isText = () => true;
const formats = { duration: isText, listener: isText, moment: isText, size: isText };

/** A module of CommonJS: a function from the checks of formats to the validator that ajv compiles. */
export function codeOf(name: SchemaName): string {
  const { schema, options } = schemas[name];
  const ajv = ownSchemas({ ...options, formats, code: { source: true, formats: _`formats` } });
  const code = standalone.default(ajv, ajv.compile(schema));
  return `module.exports = (formats) => {\nconst module = {};\n${code}\nreturn module.exports;\n};\n`;
}
