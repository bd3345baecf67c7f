import type { PipelineConfig } from "../schemas/pipeline.ts";

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
