import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

/** Headers with an HMAC-SHA256 of the body in hexadecimal digits, and the prefix of the digits. */
const hmacHeaders: Readonly<Record<string, string>> = {
  "x-hub-signature-256": "sha256=",
  "x-gitea-signature": "",
  "x-forgejo-signature": "",
  "x-signature": "sha256=",
};

/** Seconds by which the clock of a sender may differ, where the time of a delivery is signed. */
const tolerance = 300;

/** Whether a request has a signature or token: otherwise its body is not read. */
export function isSigned(headers: IncomingHttpHeaders): boolean {
  return [...Object.keys(hmacHeaders), "x-gitlab-token", "webhook-signature"].some((name) => name in headers);
}

/**
 * Whether the sender of `body`, the raw bytes, knows one of `secrets`:
 *
 * - GitHub, Gitea, Forgejo and others with HMAC-SHA256 sign the body (`X-Hub-Signature-256`, `X-Gitea-Signature`,
 *   `X-Forgejo-Signature`, `X-Signature`).
 * - GitLab sends the secret itself (`X-Gitlab-Token`), or signs id, time and body as Standard Webhooks do
 *   (`webhook-signature`), with a secret that is written `whsec_` and base64.
 *
 * One valid proof is enough: a request that carries several may be signed with several secrets. Each comparison takes
 * the same time wherever the texts differ, and each secret is tried. `now` are seconds.
 */
export function isProven(headers: IncomingHttpHeaders, body: Buffer, secrets: readonly string[], now: number): boolean {
  const proofs = [...hmacProofs(headers, body), tokenProof(headers), standardProof(headers, body, now)];
  const results = proofs.flatMap((proof) => secrets.map((secret) => proof?.(secret) === true));
  return results.includes(true);
}

type Proof = (secret: string) => boolean;

function hmacProofs(headers: IncomingHttpHeaders, body: Buffer): Proof[] {
  return Object.entries(hmacHeaders).flatMap(([name, before]): Proof[] => {
    const given = headers[name];
    if (typeof given !== "string" || !given.startsWith(before)) return [];
    const digits = given.slice(before.length);
    if (!/^[0-9a-f]{64}$/i.test(digits)) return [];
    const digest = Buffer.from(digits, "hex");
    return [(secret) => timingSafeEqual(createHmac("sha256", secret).update(body).digest(), digest)];
  });
}

/** Compares hashes, so that the time does not reveal the length of a secret. */
function tokenProof(headers: IncomingHttpHeaders): Proof | undefined {
  const given = headers["x-gitlab-token"];
  if (typeof given !== "string") return undefined;
  return (secret) => timingSafeEqual(hash(given), hash(secret));
}

function hash(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function standardProof(headers: IncomingHttpHeaders, body: Buffer, now: number): Proof | undefined {
  const { "webhook-id": id, "webhook-timestamp": time, "webhook-signature": given } = headers;
  if (typeof id !== "string" || typeof time !== "string" || typeof given !== "string") return undefined;
  if (!/^\d{1,12}$/.test(time) || Math.abs(now - Number(time)) > tolerance) return undefined;
  const digests = given.split(" ").flatMap((one) => {
    const [, base64] = /^v1,([A-Za-z0-9+/]{43}=)$/.exec(one) ?? [];
    return base64 === undefined ? [] : [Buffer.from(base64, "base64")];
  });
  return (secret) => {
    const digest = createHmac("sha256", standardKey(secret)).update(`${id}.${time}.`).update(body).digest();
    return digests.map((one) => timingSafeEqual(one, digest)).includes(true);
  };
}

function standardKey(secret: string): Buffer {
  return secret.startsWith("whsec_") ? Buffer.from(secret.slice("whsec_".length), "base64") : Buffer.from(secret);
}
