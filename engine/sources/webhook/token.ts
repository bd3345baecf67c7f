import { hash, randomBytes, timingSafeEqual } from "node:crypto";

/** A new access token: 32 random bytes, safe in a URL and a header. */
export function newToken(): string {
  return randomBytes(32).toString("base64url");
}

/** The stored form of a token: SHA-256, hex. A token is random, so it needs no salt and no slow hash. */
export function tokenHash(token: string): string {
  return hash("sha256", token, "hex");
}

/** Compares in constant time. */
export function isToken(token: string, stored: string): boolean {
  return timingSafeEqual(Buffer.from(tokenHash(token), "hex"), Buffer.from(stored, "hex"));
}
