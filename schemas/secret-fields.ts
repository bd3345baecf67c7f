import { isSecret, type Path } from "./annotations.ts";
import type { PipelineConfig } from "./pipeline.ts";
import { type Server, serversGetting } from "./servers.ts";

/** A reference to a secret: `${env:NAME}` or `${file:/path}`. */
export interface SecretReference {
  /** As it is written. */
  text: string;
  scheme: "env" | "file";
  /** The name of the variable, or the path. */
  name: string;
}

const spelled = /\$\$\{|\$\{(env|file):([^${}]+)\}/g;

/** The references in a text, in their order. `$${` stands for a plain `${`. */
export function referencesIn(text: string): SecretReference[] {
  return [...text.matchAll(spelled)].flatMap(([found, scheme, name = ""]): SecretReference[] =>
    scheme === "env" || scheme === "file" ? [{ text: found, scheme, name }] : [],
  );
}

/** The reference that the whole text is; undefined for any other text. */
export function readReference(text: string): SecretReference | undefined {
  return referencesIn(text).find((found) => found.text === text);
}

/** A secret field whose text holds a reference, or `$${` for a plain `${`. */
export interface SecretField {
  path: Path;
  text: string;
  /** The servers that get the value. */
  servers: Server[];
}

export function secretFields(config: PipelineConfig): SecretField[] {
  const fields: SecretField[] = [];
  replacingTexts(config, (text, path) => {
    if (text.includes("${") && isSecret(path)) fields.push({ path, text, servers: serversGetting(config, path) });
    return text;
  });
  return fields;
}

/** The texts of the secret fields of a config, as they are: values in plain text, or those of resolved references. */
export function secretTexts(config: PipelineConfig): string[] {
  const texts: string[] = [];
  replacingTexts(config, (text, path) => {
    if (isSecret(path)) texts.push(text);
    return text;
  });
  return texts;
}

/** A copy of a value with what `replace` gives for each of its texts. */
export function replacingTexts(
  value: unknown,
  replace: (text: string, path: Path) => string,
  path: Path = [],
): unknown {
  if (typeof value === "string") return replace(value, path);
  if (Array.isArray(value)) return value.map((item, index) => replacingTexts(item, replace, [...path, index]));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, replacingTexts(item, replace, [...path, key])]);
  return Object.fromEntries(entries);
}
