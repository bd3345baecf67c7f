import { createHmac, randomBytes } from "node:crypto";
import type { PipelineConfig } from "../../schemas/pipeline.ts";

/** Resolves the references of a file when a pipeline starts. */
export interface SecretSource {
  /** Replaces `${env:NAME}` and `${file:/path}` in a text. Strict: throws EngineError SECRET_NOT_FOUND, never yields "". */
  resolve(text: string): Promise<string>;
}

/**
 * Returns a config with the values of its secrets, for the thread that runs it. It is never stored, shown or logged.
 */
export async function resolveSecrets(config: PipelineConfig, secrets: SecretSource): Promise<PipelineConfig> {
  return (await resolveIn(config, secrets)) as PipelineConfig;
}

async function resolveIn(value: unknown, secrets: SecretSource): Promise<unknown> {
  if (typeof value === "string") return value.includes("${") ? secrets.resolve(value) : value;
  if (Array.isArray(value)) return Promise.all(value.map((item) => resolveIn(item, secrets)));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(async ([key, item]) => [key, await resolveIn(item, secrets)] as const);
  return Object.fromEntries(await Promise.all(entries));
}

/** Secrets of a running pipeline whose values have changed since it started. */
export interface StaleSecrets {
  pipeline_id: string;
  /** References that have another value now, such as `${env:NAME}`. */
  changed: string[];
  /** Why references have no value any more; the pipeline goes on with the old one. */
  missing: string[];
}

/** A text with references that a pipeline uses outside its config. */
export interface SecretText {
  pipeline_id: string;
  text: string;
  /** Whether the pipeline uses this value of it. */
  isCurrent: (value: string) => boolean;
}

const reference = /\$\{(?:env|file):[^${}]+\}/g;

/**
 * The secrets that each pipeline was started with. Of a value only a digest is kept, with a salt that never leaves this
 * process.
 */
export class SecretsInUse {
  readonly #secrets: SecretSource;
  readonly #salt = randomBytes(32);
  /** Digest of its value, by text with references, by pipeline. */
  readonly #used = new Map<string, Map<string, string>>();

  constructor(secrets: SecretSource) {
    this.#secrets = secrets;
  }

  /** A pipeline starts with `config`; `resolved` is the same config with the values of its secrets. */
  note(pipeline_id: string, config: PipelineConfig, resolved: PipelineConfig): void {
    const texts = new Map<string, string>();
    this.#collect(config, resolved, texts);
    this.#used.set(pipeline_id, texts);
  }

  forget(pipeline_id: string): void {
    this.#used.delete(pipeline_id);
  }

  /** The secrets whose value has changed or is missing, of the configs that were noted and of `further` texts. */
  async stale(further: readonly SecretText[]): Promise<StaleSecrets[]> {
    // A secret that many pipelines use is read once.
    const values = new Map<string, Promise<string | Error>>();
    const valueOf = (text: string): Promise<string | Error> => {
      const value = values.get(text) ?? this.#secrets.resolve(text).catch((error: unknown) => error as Error);
      values.set(text, value);
      return value;
    };
    const found = new Map<string, StaleSecrets>();
    const check = async (pipeline_id: string, text: string, isCurrent: (value: string) => boolean): Promise<void> => {
      const value = await valueOf(text);
      if (typeof value === "string" && isCurrent(value)) return;
      const stale = found.get(pipeline_id) ?? { pipeline_id, changed: [], missing: [] };
      if (typeof value === "string") stale.changed.push(...(text.match(reference) ?? []));
      else stale.missing.push(value.message);
      found.set(pipeline_id, stale);
    };
    for (const [pipeline_id, texts] of this.#used)
      for (const [text, digest] of texts) await check(pipeline_id, text, (value) => this.#digest(value) === digest);
    for (const { pipeline_id, text, isCurrent } of further) await check(pipeline_id, text, isCurrent);
    return [...found.values()];
  }

  #collect(value: unknown, resolved: unknown, texts: Map<string, string>): void {
    if (typeof value === "string") {
      if (value.includes("${") && typeof resolved === "string") texts.set(value, this.#digest(resolved));
      return;
    }
    if (typeof value !== "object" || value === null || typeof resolved !== "object" || resolved === null) return;
    for (const [key, entry] of Object.entries(value)) {
      this.#collect(entry, (resolved as Record<string, unknown>)[key], texts);
    }
  }

  #digest(value: string): string {
    return createHmac("sha256", this.#salt).update(value).digest("base64");
  }
}
