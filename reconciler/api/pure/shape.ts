import { Ajv } from "ajv";
import type { ValidateFunction } from "ajv";
import { PureError } from "./pure-error.ts";

/** Compiles the shapes of bodies. */
export const shapes = new Ajv({ strict: true });

/**
 * The body, which has that shape. Throws PureError with status 422 that names the first thing that is wrong
 * (specification, lifecycle and API, section 3).
 */
export function shaped<T>(shape: ValidateFunction<T>, body: unknown): T {
  if (shape(body)) return body;
  const [first] = shape.errors ?? [];
  const { instancePath = "", message = "is not valid", params } = first ?? {};
  const extra = (params as { additionalProperty?: string } | undefined)?.additionalProperty;
  const named = extra === undefined ? "" : `: ${JSON.stringify(extra.slice(0, 80))}`;
  const where = instancePath === "" ? "the body" : instancePath.slice(1).replaceAll("/", ".");
  throw new PureError(422, "", `validation failed: ${where} ${message}${named}`);
}
