import { v3Keys, type Path, type SchemaError } from "../../schemas/index.ts";
import type { Document } from "../desired/document.ts";
import { didYouMean } from "./nearest.ts";
import { printable, problem, type Problem } from "./problem.ts";

/** A key that the format does not know at `path`, with what was probably meant. */
export function unknownKey(document: Document, path: Path, key: string, error: SchemaError): Problem {
  const known = Object.keys((error.parentSchema?.["properties"] as object | undefined) ?? {});
  const merge =
    key === "<<" ? "YAML 1.2 has no merge keys: write the fields out, or use an alias for the whole value" : undefined;
  return problem("UNKNOWN_KEY", document.keyPlace([...path, key]), {
    path: [...path, key],
    expected: `one of the keys ${known.join(", ")}`,
    found: `the key "${printable(key)}"`,
    suggestion: merge ?? elsewhere(path, key) ?? didYouMean(key, known),
  });
}

/** A key of the root that stands too deep is a matter of indentation; one of another kind of source is told as such. */
function elsewhere(path: Path, key: string): string | undefined {
  const owners = path.length === 2 && path[0] === "sources" && Object.hasOwn(keysOf, key) ? (keysOf[key] ?? []) : [];
  if (owners.length > 0) return `${key} is a key of a ${owners.join(" or ")} source`;
  return path.length > 0 && v3Keys.includes(key)
    ? `${key} belongs to the root of the document: check its indentation`
    : undefined;
}

/** Keys that only some kinds of sources have. */
const keysOf: Readonly<Record<string, readonly string[]>> = {
  schema_fields: ["webhook", "kafka"],
  connection_params: ["kafka"],
  topic: ["kafka"],
  schema_registry: ["kafka"],
  schema_version: ["kafka"],
  consumer_group_initial_offset: ["kafka"],
  format: ["kafka"],
  schema: ["kafka"],
};
