import { createHash, timingSafeEqual } from "node:crypto";

/** What is compared instead of a secret, so that the time of a comparison does not reveal its length. */
export function secretDigest(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

/** Whether a text is the secret of one of these digests. Each is compared, in a time that does not depend on the text. */
export function isSecretOf(text: string, digests: readonly Buffer[]): boolean {
  const given = secretDigest(text);
  return digests.map((digest) => timingSafeEqual(given, digest)).includes(true);
}
