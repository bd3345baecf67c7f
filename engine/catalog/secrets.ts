import { createHmac, randomBytes } from "node:crypto";
import type { PipelineConfig } from "../../schemas/pipeline.ts";

/** Turns the references of a file into values, when a pipeline starts. */
export interface SecretSource {
  /** Replaces `${env:NAME}` and `${file:/path}` in a text. Strict: throws EngineError SECRET_NOT_FOUND, never yields "". */
  resolve(text: string): Promise<string>;
}

/** A config with the values of its secrets, for the thread that runs it. It is never stored, shown or logged. */
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

/** Secrets of a pipeline that are no longer what it runs with. */
export interface StaleSecrets {
  pipeline_id: string;
  /** References whose value is another one now, such as `${env:NAME}`. */
  changed: string[];
  /** Why references have no value any more; the pipeline keeps the one that it has. */
  missing: string[];
}

const reference = /\$\{(?:env|file):[^${}]+\}/g;

/**
 * With which secrets each pipeline was started. Values are kept as digests alone, with a salt that never leaves this
 * process.
 */
export class UsedSecrets {
  readonly #secrets: SecretSource;
  readonly #salt = randomBytes(32);
  /** Digest of its value, by text with references, by pipeline. */
  readonly #used = new Map<string, Map<string, string>>();

  constructor(secrets: SecretSource) {
    this.#secrets = secrets;
  }

  /** A pipeline starts with `config`, of which `resolved` has the values. */
  note(pipeline_id: string, config: PipelineConfig, resolved: PipelineConfig): void {
    const texts = new Map<string, string>();
    this.#collect(config, resolved, texts);
    this.#used.set(pipeline_id, texts);
  }

  forget(pipeline_id: string): void {
    this.#used.delete(pipeline_id);
  }

  /** What is stale now. `tokens` are further texts: of each pipeline one, and whether a value is still the one that counts. */
  async stale(
    tokens: readonly { pipeline_id: string; text: string; isCurrent: (value: string) => boolean }[],
  ): Promise<StaleSecrets[]> {
    // A secret that many pipelines use is read once.
    const values = new Map<string, Promise<string | Error>>();
    const valueOf = (text: string): Promise<string | Error> => {
      const value = values.get(text) ?? this.#secrets.resolve(text).catch((error: unknown) => error as Error);
      values.set(text, value);
      return value;
    };
    const found = new Map<string, StaleSecrets>();
    const look = async (pipeline_id: string, text: string, isCurrent: (value: string) => boolean): Promise<void> => {
      const value = await valueOf(text);
      if (typeof value === "string" && isCurrent(value)) return;
      const stale = found.get(pipeline_id) ?? { pipeline_id, changed: [], missing: [] };
      if (typeof value === "string") stale.changed.push(...(text.match(reference) ?? []));
      else stale.missing.push(value.message);
      found.set(pipeline_id, stale);
    };
    for (const [pipeline_id, texts] of this.#used)
      for (const [text, digest] of texts) await look(pipeline_id, text, (value) => this.#digest(value) === digest);
    for (const { pipeline_id, text, isCurrent } of tokens) await look(pipeline_id, text, isCurrent);
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
