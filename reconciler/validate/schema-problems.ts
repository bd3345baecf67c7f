import { schemaErrors, type Path, type SchemaError } from "../../schemas/index.ts";
import type { Document } from "../desired/document.ts";
import type { Code } from "./codes.ts";
import { found, kindOf } from "./found.ts";
import { didYouMean } from "./nearest.ts";
import { pathText, problem, type Problem } from "./problem.ts";
import { unknownKey } from "./unknown-key.ts";
import { suggestDuration, suggestQuantity } from "./suggest.ts";

/** The first layer: every breach of the v3 schema, one problem for each field. */
export function schemaProblems(document: Document): Problem[] {
  const byField = new Map<string, Problem>();
  for (const error of schemaErrors(document.value)) {
    const one = problemOf(document, error);
    if (one !== undefined && !byField.has(one.path)) byField.set(one.path, one);
  }
  return [...byField.values()];
}

function problemOf(document: Document, error: SchemaError): Problem | undefined {
  const path = pathOf(document.value, error.instancePath);
  switch (error.keyword) {
    case "if":
      return undefined;
    case "required":
      return missing(document, path, String(error.params["missingProperty"]), error);
    case "additionalProperties":
      return unknownKey(document, path, String(error.params["additionalProperty"]), error);
    case "discriminator":
      return wrongVariant(document, path, error);
    default:
      return wrongValue(document, path, error);
  }
}

/** A JSON pointer as a path: a segment is an index where the value is a list. */
function pathOf(root: unknown, pointer: string): Path {
  let value = root;
  return pointer
    .split("/")
    .slice(1)
    .map((escaped) => {
      const key = escaped.replaceAll("~1", "/").replaceAll("~0", "~");
      const segment = Array.isArray(value) ? Number(key) : key;
      value = (value as Record<string | number, unknown>)[segment];
      return segment;
    });
}

function missing(document: Document, path: Path, key: string, error: SchemaError): Problem {
  const given = Object.keys(error.data as object);
  const known = Object.keys((error.parentSchema?.["properties"] as object | undefined) ?? {});
  const field = pathText([...path, key]);
  const typo = didYouMean(
    key,
    given.filter((other) => !known.includes(other)),
  );
  const place = { ...document.place([...path, key]) };
  return problem("REQUIRED", place, {
    path: [...path, key],
    expected: "a value",
    found: "nothing",
    suggestion:
      typo === undefined ? `add ${field}` : typo.replace("did you mean", `rename`).replace("?", ` to "${key}"`),
  });
}

function wrongVariant(document: Document, path: Path, error: SchemaError): Problem {
  const at = [...path, String(error.params["tag"])];
  const types = path[0] === "sources" ? sourceTypes : transformTypes;
  const value = error.params["tagValue"];
  return problem("VALUE", document.place(at), {
    path: at,
    expected: `one of ${types.map((type) => `"${type}"`).join(", ")}`,
    found: found(value, at),
    suggestion: didYouMean(value, types),
  });
}

const sourceTypes = ["webhook", "kafka", "otlp.logs", "otlp.traces", "otlp.metrics"];
const transformTypes = ["filter", "dedup", "stateless"];

function wrongValue(document: Document, path: Path, error: SchemaError): Problem {
  const code = codeOf(error, path);
  const isType = error.keyword === "type";
  return problem(code, document.place(path), {
    path,
    expected: expectation(error),
    found:
      isType && (Array.isArray(error.data) || typeof error.data === "object" || wantsCollection(error))
        ? kindOf(error.data)
        : found(error.data, path),
    suggestion: suggestion(error),
  });
}

function wantsCollection({ params }: SchemaError): boolean {
  return ["object", "array"].some((kind) => [params["type"]].flat().includes(kind));
}

function codeOf({ keyword, parentSchema }: SchemaError, path: Path): Code {
  if (path.length === 1 && path[0] === "version") return "VERSION";
  return keyword === "type" ? "TYPE" : ((parentSchema?.["x-code"] as Code | undefined) ?? "VALUE");
}

const kinds: Readonly<Record<string, string>> = {
  string: "a text",
  integer: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "a mapping",
  null: "nothing",
};

function expectation({ keyword, params, parentSchema }: SchemaError): string {
  switch (keyword) {
    case "type":
      return (
        parentSchema?.["x-expected"] ??
        [params["type"]]
          .flat()
          .map((type) => kinds[String(type)])
          .join(" or ")
      );
    case "const":
      return `"${String(params["allowedValue"])}"`;
    case "enum":
      return `one of ${(params["allowedValues"] as string[]).map((value) => `"${value}"`).join(", ")}`;
    case "minimum":
      return `a whole number of at least ${String(params["limit"])}`;
    case "minItems":
      return "at least one entry";
    case "maxItems":
    case "maxLength":
      return parentSchema?.["x-expected"] ?? `at most ${String(params["limit"])}`;
    default:
      return parentSchema?.["x-expected"] ?? "a value that the v3 format allows";
  }
}

function suggestion({ keyword, params, parentSchema, data }: SchemaError): string | undefined {
  const code = parentSchema?.["x-code"];
  if (code === "DURATION") return suggestDuration(data);
  if (code === "QUANTITY") return suggestQuantity(data);
  if (keyword === "enum") return didYouMean(data, params["allowedValues"] as string[]);
  if (keyword === "const") return didYouMean(data, [String(params["allowedValue"])]);
  if (keyword !== "type" || params["type"] === "null") return undefined;
  if (params["type"] === "string" && (typeof data === "number" || typeof data === "boolean"))
    return inQuotes(parentSchema, data);
  return params["type"] === "integer" && typeof data === "string" && /^\d+$/.test(data)
    ? `write ${data} without quotes`
    : undefined;
}

/** A number that was rounded, such as what YAML makes of 12e00099, no longer tells its own text. */
function inQuotes(parentSchema: SchemaError["parentSchema"], data: number | boolean): string {
  const isRounded = typeof data === "number" && Math.abs(data) > Number.MAX_SAFE_INTEGER;
  return parentSchema?.["x-secret"] === true || isRounded ? "put it in quotes" : `put it in quotes: "${data}"`;
}
