import { isDeepStrictEqual } from "node:util";
import { isSecret, referencesIn } from "../../schemas/index.ts";
import type { Path } from "../../schemas/index.ts";

/** Replaces a secret that was written as plain text. */
const hidden = "<secret>";

/** A value of a config as it may be shown: secrets in plain text are replaced, references to secrets stay. */
export function shown(value: unknown, path: Path): unknown {
  if (isSecret(path)) return typeof value === "string" && isOfReferences(value) ? value : secret(value);
  if (Array.isArray(value)) return value.map((entry, index) => shown(entry, [...path, index]));
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, shown(entry, [...path, key])]));
  }
  // A password in a URL, such as the one of a schema registry.
  return typeof value === "string" ? value.replaceAll(/(:\/\/)[^\s/?#@]*@/g, `$1${hidden}@`) : value;
}

/** Whether a text is empty or has references only: they name a secret and do not contain it. */
function isOfReferences(text: string): boolean {
  const references = referencesIn(text).map((reference) => reference.text);
  return references.join("") === text;
}

/** Whether a part of a value is not shown. */
export function isHidden(value: unknown, path: Path): boolean {
  return !isDeepStrictEqual(value, shown(value, path));
}

function secret(value: unknown): unknown {
  return value === undefined ? undefined : hidden;
}
