import { Ajv, type Options } from "ajv";

/**
 * Compiles schemas of this repository. They are compiled when a process starts, each time, so nothing is done that only
 * tells about the schema itself: the tests compile all of them strictly. The check of documents is that of strict mode.
 */
export function ownSchemas(options: Options = {}): Ajv {
  return new Ajv({
    strict: false,
    strictNumbers: true,
    meta: false,
    validateSchema: false,
    // Smaller functions compile faster: a large schema in less than half the time.
    inlineRefs: false,
    code: { optimize: false },
    logger: false,
    ...options,
  });
}
