import { EngineError } from "../core/errors.ts";
import { isToken, newToken, tokenHash } from "../sources/webhook/token.ts";
import type { PipelineRegistry } from "./registry.ts";
import type { TokenRecord } from "../state/catalog.ts";

export interface TokenView {
  created_at: string;
  last_used_at: string | null;
  /** Brought by `x-sluice.access_token` instead of generated here. */
  brought: boolean;
}

/** How long the old token still counts after a rotation, so that senders can be changed one by one. */
const overlap = 10 * 60 * 1000;
/** Uses are noted on disk at most this often. */
const noteEvery = 60 * 1000;

/** The tokens of the webhook sources. Kept as hashes; a generated token is shown once, when it is made. */
export class AccessTokens {
  readonly #registry: PipelineRegistry;
  readonly #previous = new Map<string, { hash: string; until: number }>();

  constructor(registry: PipelineRegistry) {
    this.#registry = registry;
  }

  /** The record of a new token, generated or brought. */
  static record(token: string, brought: boolean): TokenRecord {
    return { hash: tokenHash(token), created_at: new Date().toISOString(), last_used_at: null, brought };
  }

  static generate(): string {
    return newToken();
  }

  /** When the token was made and last used. Throws PIPELINE_NOT_FOUND, NOT_SUPPORTED where the source has no token. */
  show(pipeline_id: string): TokenView {
    const { created_at, last_used_at, brought } = this.#token(pipeline_id);
    return { created_at, last_used_at, brought };
  }

  /** Makes a new token and returns it, this once. The old one counts for ten minutes more. */
  async rotate(pipeline_id: string): Promise<string> {
    const old = this.#token(pipeline_id);
    if (old.brought) {
      throw new EngineError(
        "NOT_SUPPORTED",
        `the token of pipeline ${pipeline_id} is brought by x-sluice.access_token: change the secret that it names`,
      );
    }
    const token = AccessTokens.generate();
    await this.#registry.save(pipeline_id, { token: AccessTokens.record(token, false) });
    this.#previous.set(pipeline_id, { hash: old.hash, until: performance.now() + overlap });
    return token;
  }

  /** Whether `token` opens the pipeline; notes the use. */
  accepts(pipeline_id: string, token: string): boolean {
    const record = this.#token(pipeline_id);
    const previous = this.#previous.get(pipeline_id);
    const isPrevious = previous !== undefined && previous.until > performance.now() && isToken(token, previous.hash);
    if (!isToken(token, record.hash) && !isPrevious) return false;
    this.#noteUse(pipeline_id, record);
    return true;
  }

  #noteUse(pipeline_id: string, record: TokenRecord): void {
    const now = Date.now();
    const since = record.last_used_at === null ? Infinity : now - Date.parse(record.last_used_at);
    // A note of the future is that of a clock that was set back.
    if (since >= 0 && since < noteEvery) return;
    // Only a note, which no event waits for.
    record.last_used_at = new Date(now).toISOString();
    this.#registry.save(pipeline_id, { token: record }).catch(() => undefined);
  }

  #token(pipeline_id: string): TokenRecord {
    const { token } = this.#registry.get(pipeline_id);
    if (token === undefined)
      throw new EngineError("NOT_SUPPORTED", `pipeline ${pipeline_id} has no webhook source, and no token`);
    return token;
  }
}
