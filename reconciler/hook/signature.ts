import { createHmac, type Hmac, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { isSecretOf, secretDigest } from "../../engine/index.ts";

/** Headers with an HMAC-SHA256 of the body in hexadecimal digits, and the prefix of the digits. */
const hmacHeaders: Readonly<Record<string, string>> = {
  "x-hub-signature-256": "sha256=",
  // GitHub, too, sends this one, with SHA-1, which has fewer digits.
  "x-hub-signature": "sha256=",
  "x-gitea-signature": "",
  "x-forgejo-signature": "",
  "x-signature": "sha256=",
};

/** Seconds by which the clock of a sender may differ, where the time of a delivery is signed. */
const tolerance = 300;

/** Headers with the secret itself; that of `authorization` is the password of Basic, of whatever user. */
const tokenHeaders = ["x-gitlab-token", "x-hook-secret", "authorization"] as const;

/** Whether a request has a signature or token: otherwise its body is not read. */
export function isSigned(headers: IncomingHttpHeaders): boolean {
  return [...Object.keys(hmacHeaders), ...tokenHeaders, "webhook-signature"].some((name) => name in headers);
}

/** Whether the sender of `body`, the raw bytes, knows one of `secrets`. `now` are seconds. */
export function isProven(headers: IncomingHttpHeaders, body: Buffer, secrets: readonly string[], now: number): boolean {
  const proof = new Proof(headers, secrets, now);
  proof.update(body);
  return proof.isGiven();
}

/** Signatures that the sender made, and the same made with each secret. */
interface Signatures {
  given: Buffer[];
  made: Hmac[];
}

/**
 * Finds out, while a body arrives, whether its sender knows one of the secrets:
 *
 * - GitHub, Bitbucket, Gitea, Forgejo and others with HMAC-SHA256 sign the body (`X-Hub-Signature-256`,
 *   `X-Hub-Signature`, `X-Gitea-Signature`, `X-Forgejo-Signature`, `X-Signature`).
 * - GitLab sends the secret itself (`X-Gitlab-Token`), or signs id, time and body as Standard Webhooks do
 *   (`webhook-signature`), with a secret that is written `whsec_` and base64.
 * - Azure DevOps sends the secret itself, as the password of Basic, or in a header that its user names, which is
 *   `X-Hook-Secret` here.
 *
 * One valid proof is enough: a request that carries several may be signed with several secrets. Each comparison takes
 * the same time wherever the texts differ, and each secret is tried. The body is hashed at most twice for each secret.
 */
export class Proof {
  readonly #hasToken: boolean;
  readonly #signatures: readonly Signatures[];

  /** `now` are seconds. */
  constructor(headers: IncomingHttpHeaders, secrets: readonly string[], now: number) {
    this.#hasToken = hasToken(headers, secrets);
    const all = [bodySignatures(headers, secrets), standardSignatures(headers, secrets, now)];
    this.#signatures = all.filter(({ given }) => given.length > 0);
  }

  /** False where no body can make it a proof. */
  get isPossible(): boolean {
    return this.#hasToken || this.#signatures.length > 0;
  }

  /** Takes the next bytes of the body. */
  update(bytes: Buffer): void {
    for (const { made } of this.#signatures) for (const hmac of made) hmac.update(bytes);
  }

  /** After the whole body, once. */
  isGiven(): boolean {
    const results = this.#signatures.flatMap(({ given, made }) =>
      made.flatMap((hmac) => {
        const digest = hmac.digest();
        return given.map((one) => timingSafeEqual(digest, one));
      }),
    );
    return [this.#hasToken, ...results].includes(true);
  }
}

function bodySignatures(headers: IncomingHttpHeaders, secrets: readonly string[]): Signatures {
  const given = Object.entries(hmacHeaders).flatMap(([name, before]): Buffer[] => {
    const text = headers[name];
    if (typeof text !== "string" || !text.startsWith(before)) return [];
    const digits = text.slice(before.length);
    return /^[0-9a-f]{64}$/i.test(digits) ? [Buffer.from(digits, "hex")] : [];
  });
  return { given, made: secrets.map((secret) => createHmac("sha256", secret)) };
}

function hasToken(headers: IncomingHttpHeaders, secrets: readonly string[]): boolean {
  const digests = secrets.map(secretDigest);
  return tokenHeaders.some((name) => {
    const text = headers[name];
    const given = name === "authorization" ? passwordOf(text) : text;
    return typeof given === "string" && isSecretOf(given, digests);
  });
}

function passwordOf(authorization: string | string[] | undefined): string | undefined {
  const [, base64] = /^Basic +([A-Za-z0-9+/]+={0,2})$/i.exec(String(authorization)) ?? [];
  return base64 === undefined ? undefined : /^[^:]*:(.+)$/s.exec(Buffer.from(base64, "base64").toString())?.[1];
}

function standardSignatures(headers: IncomingHttpHeaders, secrets: readonly string[], now: number): Signatures {
  const { "webhook-id": id, "webhook-timestamp": time, "webhook-signature": text } = headers;
  if (typeof id !== "string" || typeof time !== "string" || typeof text !== "string") return { given: [], made: [] };
  if (!/^\d{1,12}$/.test(time) || Math.abs(now - Number(time)) > tolerance) return { given: [], made: [] };
  const given = text.split(" ").flatMap((one) => {
    const [, base64] = /^v1,([A-Za-z0-9+/]{43}=)$/.exec(one) ?? [];
    return base64 === undefined ? [] : [Buffer.from(base64, "base64")];
  });
  const made = secrets.map((secret) => createHmac("sha256", standardKey(secret)).update(`${id}.${time}.`));
  return { given, made };
}

function standardKey(secret: string): Buffer {
  return secret.startsWith("whsec_") ? Buffer.from(secret.slice("whsec_".length), "base64") : Buffer.from(secret);
}
