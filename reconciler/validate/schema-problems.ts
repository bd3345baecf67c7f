import {
  parseDuration,
  parseQuantity,
  type Path,
  type SchemaError,
  schemaErrors,
  sourceTypes,
  sourceTypesWith,
  transformTypes,
  v3Keys,
} from "../../schemas/index.ts";
import type { Document } from "../language/document.ts";
import type { Code } from "../language/codes.ts";
import { didYouMean, found, kindOf, pathText, printable, problem, type Problem } from "../language/problem.ts";

/** The first layer: every breach of a schema, by default that of v3, one problem for each field. */
export function schemaProblems(document: Document, errors = schemaErrors(document.value)): Problem[] {
  const byField = new Map<string, Problem>();
  for (const error of errors) {
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
      // What is said of a number is which one may be written.
      if (params["type"] === "integer") return kinds["integer"]!;
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

/** A number that was rounded, such as 12e00099 in YAML, no longer shows its own text. */
function inQuotes(parentSchema: SchemaError["parentSchema"], data: number | boolean): string {
  const isRounded = typeof data === "number" && Math.abs(data) > Number.MAX_SAFE_INTEGER;
  return parentSchema?.["x-secret"] === true || isRounded ? "put it in quotes" : `put it in quotes: "${data}"`;
}

/** A key that the format does not have at `path`, with the probably intended one. */
function unknownKey(document: Document, path: Path, key: string, error: SchemaError): Problem {
  const known = Object.keys((error.parentSchema?.["properties"] as object | undefined) ?? {});
  return problem("UNKNOWN_KEY", document.keyPlace([...path, key]), {
    path: [...path, key],
    expected: `one of the keys ${known.join(", ")}`,
    found: `the key "${printable(key)}"`,
    suggestion: elsewhere(path, key) ?? didYouMean(key, known),
  });
}

/** Where a key belongs: a key of the root is indented too deep, others belong to another kind of source. */
function elsewhere(path: Path, key: string): string | undefined {
  const owners = path.length === 2 && path[0] === "sources" ? sourceTypesWith(key) : [];
  if (owners.length > 0) return `${key} is a key of a ${owners.join(" or ")} source`;
  return path.length > 0 && v3Keys.includes(key)
    ? `${key} belongs to the root of the document: check its indentation`
    : undefined;
}

const units: readonly (readonly [RegExp, string])[] = [
  [/^(ms|msecs?|millis|milliseconds?)$/i, "ms"],
  [/^(s|secs?|seconds?)$/i, "s"],
  [/^(m|mins?|minutes?)$/i, "m"],
  [/^(h|hrs?|hours?)$/i, "h"],
  [/^(d|days?)$/i, "d"],
];

/** The duration that a text or number probably means, such as `36h` for `1.5d` or `30s` for 30. */
export function suggestDuration(value: unknown): string | undefined {
  const match = /^(\d{1,9}(?:\.\d{1,3})?)\s*([a-z]*)$/i.exec(String(value).trim());
  if (match === null) return undefined;
  const [, amount = "", word = ""] = match;
  const unit = word === "" ? "s" : units.find(([pattern]) => pattern.test(word))?.[1];
  if (unit === undefined) return undefined;
  // Days are hours here: a fraction of a day has no spelling of its own, and a plain one is not known everywhere.
  const text = unit === "d" ? `${Number(amount) * 24}h` : `${amount}${unit}`;
  return parseDuration(text) === undefined ? undefined : `write "${text}"`;
}

/** The quantity that a text probably means, such as `128Mi` for `128 mi` or `10Gi` for `10 gb`. */
export function suggestQuantity(value: unknown): string | undefined {
  const match = /^(\d{1,18}(?:\.\d{1,9})?)\s*([kmgtpe]?)(i?b?)$/i.exec(String(value).trim());
  if (match === null) return undefined;
  const [, amount = "", prefix = "", binary = ""] = match;
  const unit = binary === "" && prefix.toLowerCase() === "k" ? "k" : prefix.toUpperCase();
  const text = `${amount}${unit}${unit !== "" && binary !== "" ? "i" : ""}`;
  return parseQuantity(text) === undefined ? undefined : `write "${text}"`;
}
