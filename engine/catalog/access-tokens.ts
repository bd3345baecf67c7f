import type { EngineOptions, PipelineConfig } from "../../schemas/pipeline.ts";
import { EngineError } from "../core/errors.ts";
import { hasAccessToken } from "../sources/registry.ts";
import { isToken, newToken, tokenHash } from "../sources/webhook/token.ts";
import type { PipelineRegistry } from "./registry.ts";
import type { CatalogEntry, TokenRecord } from "./catalog.ts";
import { fewestCharacters, type SecretSource, type SecretText } from "./secrets.ts";

export interface TokenView {
  created_at: string;
  last_used_at: string | null;
  /** Set by `x-sluice.access_token` instead of generated here. */
  brought: boolean;
}

/** What is stored of a token; `generated` is its text where it was made here. */
interface NewToken {
  token?: TokenRecord;
  generated?: string;
}

/** How long the old token is accepted after a rotation, in milliseconds, so that senders can be changed one by one. */
const overlap = 10 * 60 * 1000;
/** The hash of a token that was never given to anyone. */
const ofNobody = tokenHash(newToken());
/** A use is stored at most this often, in milliseconds. */
const noteEvery = 60 * 1000;

/** The tokens of the webhook sources. Kept as hashes; a generated token is shown once, when it is made. */
export class AccessTokens {
  readonly #registry: PipelineRegistry;
  readonly #secrets: SecretSource;
  /** The tokens before the last rotations; each counts only while the pipeline has the one that it was `before`. */
  readonly #previous = new Map<string, { hash: string; before: string; until: number }>();
  /** Those of pipelines that are being recreated, which have no entry for a while. */
  readonly #recreated = new Map<string, TokenRecord>();
  /** The times of the last uses, in milliseconds: each event is a use, and parsing what is stored is slow. */
  readonly #usedAt = new WeakMap<TokenRecord, number>();

  constructor(registry: PipelineRegistry, secrets: SecretSource) {
    this.#registry = registry;
    this.#secrets = secrets;
  }

  /**
   * The token that a config needs and the `present` entry lacks: that of the options, or a generated one; undefined
   * where it lacks none. Throws SECRET_NOT_FOUND and SECRET_NOT_ALLOWED.
   */
  async newTokenFor(
    { pipeline_id, sources }: PipelineConfig,
    { access_token }: EngineOptions,
    present?: Pick<CatalogEntry, "token">,
  ): Promise<NewToken> {
    if (!hasAccessToken({ sources })) return {};
    if (access_token !== undefined) {
      const value = await this.#secrets.resolve(access_token, { pipeline_id, servers: [] });
      // One that is in use stays: only a change has to bring a better one.
      if (present?.token?.brought === true && isToken(value, present.token.hash)) return {};
      refuseShort(value, pipeline_id);
      return { token: recordOf(value, true) };
    }
    if (present?.token !== undefined && !present.token.brought) return {};
    const generated = newToken();
    return { token: recordOf(generated, false), generated };
  }

  /** The texts of `x-sluice.access_token`, with references to secrets. */
  texts(): SecretText[] {
    return this.#registry.list().flatMap(({ pipeline_id, token, options: { access_token: text } }) => {
      if (token?.brought !== true || text?.includes("${") !== true) return [];
      return [{ pipeline_id, servers: [], text, isCurrent: (value: string) => isToken(value, token.hash) }];
    });
  }

  /** When the token was made and last used. Throws PIPELINE_NOT_FOUND, NOT_SUPPORTED where the source has no token. */
  show(pipeline_id: string): TokenView {
    const token = tokenOf(this.#registry.get(pipeline_id));
    const at = this.#lastUse(token);
    const last_used_at = at === -Infinity ? null : new Date(at).toISOString();
    return { created_at: token.created_at, last_used_at, brought: token.brought };
  }

  /**
   * Makes a new token and returns it, this once. The old one is accepted for ten minutes more; with `now` neither it nor
   * one before it.
   */
  async rotate(pipeline_id: string, { now = false } = {}): Promise<string> {
    const made = newToken();
    const token = recordOf(made, false);
    let replaced = "";
    await this.#registry.save(pipeline_id, (present) => {
      const { hash, brought } = tokenOf(present);
      if (brought) {
        throw new EngineError(
          "NOT_SUPPORTED",
          `the token of pipeline ${pipeline_id} is set by x-sluice.access_token: change the secret that it names`,
        );
      }
      replaced = hash;
      return { token };
    });
    const at = performance.now();
    for (const [id, { until }] of this.#previous) if (until <= at) this.#previous.delete(id);
    if (now) this.#previous.delete(pipeline_id);
    else this.#previous.set(pipeline_id, { hash: replaced, before: token.hash, until: at + overlap });
    return made;
  }

  /** Whether `token` is that of a pipeline; stores when it was used. Takes as long where there is no such pipeline. */
  accepts(pipeline_id: string, token: string): boolean {
    const record = this.#registry.find(pipeline_id)?.token;
    const { hash } = record ?? this.#recreated.get(pipeline_id) ?? { hash: ofNobody };
    if (!isToken(token, hash) && !this.#isPrevious(pipeline_id, token, hash)) return false;
    if (record !== undefined) this.#noteUse(pipeline_id, record);
    return true;
  }

  /** Whether a pipeline has a token, or had one before it was deleted to be created again. */
  isKnown(pipeline_id: string): boolean {
    return this.#registry.find(pipeline_id)?.token !== undefined || this.#recreated.has(pipeline_id);
  }

  /** From now on a pipeline is being recreated, or no more: meanwhile its token is kept. */
  recreating(pipeline_id: string, isOn: boolean): void {
    const token = this.#registry.find(pipeline_id)?.token;
    if (!isOn) this.#recreated.delete(pipeline_id);
    else if (token !== undefined) this.#recreated.set(pipeline_id, token);
  }

  /** A pipeline has another id now: the token before its last rotation stays accepted as long. */
  moved(from: string, to: string): void {
    const previous = this.#previous.get(from);
    this.#previous.delete(from);
    if (previous !== undefined) this.#previous.set(to, previous);
  }

  /** Whether it is the token before that of hash `present`, and still accepted. */
  #isPrevious(pipeline_id: string, token: string, present: string): boolean {
    const previous = this.#previous.get(pipeline_id);
    if (previous === undefined || previous.before !== present || previous.until <= performance.now()) return false;
    return isToken(token, previous.hash);
  }

  #noteUse(pipeline_id: string, record: TokenRecord): void {
    const now = Date.now();
    const since = now - this.#lastUse(record);
    // A stored time in the future is from before the clock was set back.
    if (since >= 0 && since < noteEvery) return;
    this.#usedAt.set(record, now);
    // No event waits for this write.
    this.#registry.tokenUsed(pipeline_id, record.hash, new Date(now).toISOString()).catch(() => undefined);
  }

  #lastUse(record: TokenRecord): number {
    const known = this.#usedAt.get(record);
    if (known !== undefined) return known;
    const at = record.last_used_at === null ? -Infinity : Date.parse(record.last_used_at);
    this.#usedAt.set(record, at);
    return at;
  }
}

/** Throws NOT_SUPPORTED where the source has no token. */
function tokenOf({ pipeline_id, token }: CatalogEntry): TokenRecord {
  if (token === undefined)
    throw new EngineError("NOT_SUPPORTED", `pipeline ${pipeline_id} has no webhook source, and no token`);
  return token;
}

/** Resolves the token of the options as a start would. Throws what `newTokenFor` throws. */
export async function checkToken(
  access_token: string,
  { pipeline_id }: PipelineConfig,
  secrets: SecretSource,
): Promise<void> {
  refuseShort(await secrets.resolve(access_token, { pipeline_id, servers: [] }), pipeline_id);
}

function refuseShort(token: string, pipeline_id: string): void {
  if (token.length >= fewestCharacters) return;
  const wayOut = 'use a longer one, such as "openssl rand -hex 32" gives';
  throw new EngineError(
    "SECRET_NOT_ALLOWED",
    `the access token of pipeline ${pipeline_id} has fewer than ${fewestCharacters} characters and can be guessed: ${wayOut}`,
  );
}

/** The record of a new token; `brought`: it was set by the options. */
export function recordOf(token: string, brought: boolean): TokenRecord {
  return { hash: tokenHash(token), created_at: new Date().toISOString(), last_used_at: null, brought };
}
