import { createHmac, randomBytes } from "node:crypto";
import { isSecret, type Path } from "../../schemas/annotations.ts";
import type { PipelineConfig } from "../../schemas/pipeline.ts";
import { referencesIn, replacingTexts, secretFields, secretTexts } from "../../schemas/secret-fields.ts";
import type { Server } from "../../schemas/servers.ts";
import { EngineError } from "../core/errors.ts";

/** What the value of a reference is used for: whether it is given depends on that. */
export interface SecretUse {
  pipeline_id: string;
  /** The servers that get it; none where senders have to show it. */
  servers: readonly Server[];
}

/** A shorter token or secret can be guessed. */
export const fewestCharacters = 16;

/** What was read of texts within one sweep over all pipelines: a secret that many use is read once. */
export type ReadSecrets = Map<string, Promise<string>>;

/** Resolves the references of a file when a pipeline starts. */
export interface SecretSource {
  /**
   * Replaces `${env:NAME}` and `${file:/path}` in a text. Strict: throws EngineError SECRET_NOT_FOUND, or
   * SECRET_NOT_ALLOWED for a reference that must not be used so; never yields "". `read`, where it is given, has what
   * was read before, and gets what is read now; whether the reference is allowed is decided anew.
   */
  resolve(text: string, use: SecretUse, read?: ReadSecrets): Promise<string>;
}

/**
 * Returns a config with the values of its secrets, for the thread that runs it. It is never stored, shown or logged.
 * Throws what `resolve` throws, and SECRET_NOT_ALLOWED for a reference in a field that is no secret.
 */
export async function resolveSecrets(config: PipelineConfig, secrets: SecretSource): Promise<PipelineConfig> {
  const { pipeline_id } = config;
  const values = new Map<string, string>();
  for (const { path, text, servers } of secretFields(config)) {
    values.set(path.join("."), await secrets.resolve(text, { pipeline_id, servers }));
  }
  return replacingTexts(config, (text, path) => values.get(path.join(".")) ?? plainText(text, path)) as PipelineConfig;
}

/** The secrets of a config, for hiding them: the values of those that resolve, and the texts of the others. */
export async function secretsOf(config: PipelineConfig, secrets: SecretSource): Promise<string[]> {
  return secretTexts(await resolveSecrets(config, secrets).catch(() => config));
}

/**
 * A config with the plain texts that a start with it had, for work that uses none of its secrets: their references stay.
 * Throws SECRET_NOT_ALLOWED for a reference in a field that is no secret.
 */
export function withoutSecrets(config: PipelineConfig): PipelineConfig {
  return replacingTexts(config, (text, path) => (isSecret(path) ? text : plainText(text, path))) as PipelineConfig;
}

/** The text of a field that is no secret. */
function plainText(text: string, path: Path): string {
  return text.replaceAll(/(\$\$\{)|\$\{[^}]*\}?/g, (spelled, escaped?: string) => {
    if (escaped !== undefined) return "${";
    const found = referencesIn(spelled)[0]?.text ?? "${…}";
    const wayOut = "write ${var:NAME} for what differs between environments, and $${ for a plain ${";
    throw new EngineError(
      "SECRET_NOT_ALLOWED",
      `${path.join(".")}: expected a text without references, since it is shown, found ${found}: ${wayOut}`,
    );
  });
}

/** Secrets of a running pipeline whose values have changed since it started. */
export interface StaleSecrets {
  pipeline_id: string;
  /** References that have another value now, such as `${env:NAME}`. */
  changed: string[];
  /** Why references have no value any more; the pipeline goes on with the old one. */
  missing: string[];
}

/** A text with references that a pipeline uses. */
export interface SecretText extends SecretUse {
  text: string;
  /** Whether the pipeline uses this value of it. */
  isCurrent: (value: string) => boolean;
}

/**
 * The secrets that each pipeline was started with. Of a value only a digest is kept, with a salt that never leaves this
 * process.
 */
export class SecretsInUse {
  readonly #secrets: SecretSource;
  readonly #salt = randomBytes(32);
  readonly #used = new Map<string, readonly SecretText[]>();

  constructor(secrets: SecretSource) {
    this.#secrets = secrets;
  }

  /** A pipeline starts with `config`; `resolved` is the same config with the values of its secrets. */
  note(pipeline_id: string, config: PipelineConfig, resolved: PipelineConfig): void {
    const used = secretFields(config).map(({ path, ...field }): SecretText => {
      const digest = this.#digest(textAt(resolved, path));
      return { pipeline_id, ...field, isCurrent: (value) => this.#digest(value) === digest };
    });
    this.#used.set(pipeline_id, used);
  }

  forget(pipeline_id: string): void {
    this.#used.delete(pipeline_id);
  }

  /** The secrets whose value has changed or is missing, of the configs that were noted and of `further` texts. */
  async stale(further: readonly SecretText[]): Promise<StaleSecrets[]> {
    const found = new Map<string, { changed: Set<string>; missing: Set<string> }>();
    const read: ReadSecrets = new Map();
    for (const { pipeline_id, servers, text, isCurrent } of [...this.#used.values(), further].flat()) {
      const use = { pipeline_id, servers };
      const value = await this.#secrets.resolve(text, use, read).catch((error: unknown) => error as Error);
      if (typeof value === "string" && isCurrent(value)) continue;
      const stale = found.get(pipeline_id) ?? { changed: new Set(), missing: new Set() };
      found.set(pipeline_id, stale);
      if (typeof value !== "string") stale.missing.add(value.message);
      else for (const changed of referencesIn(text)) stale.changed.add(changed.text);
    }
    return Array.from(found, ([pipeline_id, { changed, missing }]) => ({
      pipeline_id,
      changed: [...changed],
      missing: [...missing],
    }));
  }

  #digest(value: string): string {
    return createHmac("sha256", this.#salt).update(value).digest("base64");
  }
}

function textAt(config: PipelineConfig, path: Path): string {
  return String(path.reduce<unknown>((value, segment) => (value as Record<string | number, unknown>)[segment], config));
}
