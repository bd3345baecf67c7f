import type { IncomingMessage } from "node:http";
import { isSecretOf, secretDigest } from "../../http/secret-digest.ts";
import { raise } from "./exception.ts";

export interface Credentials {
  username: string;
  password: string;
}

/**
 * Authenticates a request by basic authentication, the `X-ClickHouse-User` and `X-ClickHouse-Key` headers, or the
 * `user` and `password` parameters.
 *
 * @throws Exception 194 for missing credentials, 516 for wrong ones.
 */
export function authenticate(request: IncomingMessage, parameters: URLSearchParams, expected: Credentials): void {
  const given = credentialsOf(request, parameters);
  if (!given) {
    throw raise("REQUIRED_PASSWORD", "default: Authentication failed: password is required.");
  }
  const right = [same(given.username, expected.username), same(given.password, expected.password)];
  if (right.includes(false)) {
    const text = "Authentication failed: password is incorrect, or there is no user with such name.";
    throw raise("AUTHENTICATION_FAILED", `${printable(given.username)}: ${text}`);
  }
}

function credentialsOf(request: IncomingMessage, parameters: URLSearchParams): Credentials | undefined {
  const { authorization } = request.headers;
  if (authorization !== undefined) return basic(authorization);
  const user = header(request, "x-clickhouse-user") ?? parameters.get("user");
  const password = header(request, "x-clickhouse-key") ?? parameters.get("password");
  if (user === null && password === null) return undefined;
  return { username: user ?? "default", password: password ?? "" };
}

function basic(authorization: string): Credentials {
  const encoded = /^basic +(\S*)$/i.exec(authorization)?.[1] ?? "";
  const text = Buffer.from(encoded, "base64").toString();
  const colon = text.indexOf(":");
  return colon < 0
    ? { username: text, password: "" }
    : { username: text.slice(0, colon), password: text.slice(colon + 1) };
}

function header(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

function same(given: string, expected: string): boolean {
  return isSecretOf(given, [secretDigest(expected)]);
}

function printable(name: string): string {
  return name.replaceAll(/[^ -~]/g, "?").slice(0, 64);
}
