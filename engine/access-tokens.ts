import { EngineError } from "./core/errors.ts";
import { isToken, newToken, tokenHash } from "./sources/webhook/token.ts";
import type { Catalog, CatalogEntry, TokenRecord } from "./state/catalog.ts";

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
  readonly #catalog: Catalog;
  readonly #entry: (pipeline_id: string) => CatalogEntry;
  readonly #previous = new Map<string, { hash: string; until: number }>();

  /** `entry` gives a pipeline's live entry, or throws PIPELINE_NOT_FOUND. */
  constructor(catalog: Catalog, entry: (pipeline_id: string) => CatalogEntry) {
    this.#catalog = catalog;
    this.#entry = entry;
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
    const entry = this.#entry(pipeline_id);
    entry.token = AccessTokens.record(token, false);
    await this.#catalog.put(entry);
    this.#previous.set(pipeline_id, { hash: old.hash, until: Date.now() + overlap });
    return token;
  }

  /** Whether `token` opens the pipeline; notes the use. */
  accepts(pipeline_id: string, token: string): boolean {
    const record = this.#token(pipeline_id);
    const previous = this.#previous.get(pipeline_id);
    const isPrevious = previous !== undefined && previous.until > Date.now() && isToken(token, previous.hash);
    if (!isToken(token, record.hash) && !isPrevious) return false;
    this.#noteUse(pipeline_id, record);
    return true;
  }

  #noteUse(pipeline_id: string, record: TokenRecord): void {
    const now = Date.now();
    if (record.last_used_at !== null && now - Date.parse(record.last_used_at) < noteEvery) return;
    record.last_used_at = new Date(now).toISOString();
    // Only a note: a full disk must not refuse the event for it.
    this.#catalog.put(this.#entry(pipeline_id)).catch(() => undefined);
  }

  #token(pipeline_id: string): TokenRecord {
    const { token } = this.#entry(pipeline_id);
    if (token === undefined)
      throw new EngineError("NOT_SUPPORTED", `pipeline ${pipeline_id} has no webhook source, and no token`);
    return token;
  }
}
