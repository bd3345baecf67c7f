import { isSecret } from "../../schemas/index.ts";
import type { Path, PipelineConfig } from "../../schemas/index.ts";

/** What stands where a secret was written as plain text. */
export const redacted = "<redacted>";

/** A value that is one reference and nothing else. */
const reference = /^\$\{(?:env|file):[^${}]+\}$/;

/** User information of a URL: `https://user:password@host`. */
const userInfo = /(\/\/)[^/?#\s]*@/g;

/**
 * `config` as it may leave the process: credentials that were given as plain text are replaced, references to
 * credentials stay, since they say where a secret is and not what it is. What is a credential, the schema says.
 */
export function redact(config: PipelineConfig): PipelineConfig {
  return redactAt(config, []) as PipelineConfig;
}

function redactAt(value: unknown, path: Path): unknown {
  if (Array.isArray(value)) return value.map((item, index) => redactAt(item, [...path, index]));
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, redactAt(item, [...path, name])]));
  }
  if (isSecret(path)) return isHarmless(value) ? value : redacted;
  return path.at(-1) === "url" && typeof value === "string" ? value.replace(userInfo, `$1${redacted}@`) : value;
}

function isHarmless(value: unknown): boolean {
  return value === null || value === "" || (typeof value === "string" && reference.test(value));
}
