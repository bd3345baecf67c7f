import { clippedTo, foreignText } from "../../../peers/foreign-text.ts";
import type { Hide } from "../../../peers/hidden-secrets.ts";
import { targetNotAllowed } from "../../../peers/targets.ts";

/** Why a statement failed. `failures.ts` says what that means for a batch. */
export type RequestFailure =
  /** ClickHouse answered with an error. `text` is its message without code and version. */
  | { from: "server"; code: number; name: string; text: string }
  /** An HTTP error that is not from ClickHouse, but from a proxy or another service. */
  | { from: "http"; status: number; text: string }
  /** A successful HTTP answer that is not ClickHouse's answer to this statement. `body` is not to be shown. */
  | { from: "foreign"; text: string; body?: string }
  /** ClickHouse's answer, by its headers, whose rows are not what was asked for. */
  | { from: "answer"; text: string }
  /** The answer shows that the port speaks ClickHouse's native protocol: the server read nothing further. */
  | { from: "protocol"; text: string }
  /** The bytes that came back are not HTTP. */
  | { from: "garbled"; text: string }
  /** No answer. `sent`: whether the statement, or a part of it, may have reached the server. */
  | { from: "network"; sent: boolean; text: string }
  /** No connection can be made with these settings, whatever the server does: certificate, TLS, address. Nothing was sent. */
  | { from: "settings"; text: string }
  /** The operator does not allow this server as a target. Nothing was sent. */
  | { from: "policy"; text: string };

/** Thrown by everything that sends a statement. `asAnswer` turns it into an answer. */
export class RequestError extends Error {
  readonly failure: RequestFailure;

  constructor(failure: RequestFailure) {
    super(failure.text);
    this.name = "RequestError";
    this.failure = failure;
  }
}

/** Codes for an unknown column or table, or no right to read it. */
const unreadableCodes = [47, 60, 291, 497];

/** Whether ClickHouse answered a statement with one of these error codes. */
export function isServerError(error: unknown, ...codes: number[]): boolean {
  return error instanceof RequestError && error.failure.from === "server" && codes.includes(error.failure.code);
}

/** Whether a SELECT from a system table failed because the server does not have it, or the user may not read it. */
export function isUnreadable(error: unknown): boolean {
  return isServerError(error, ...unreadableCodes);
}

/** The longest server text that is passed on, in characters. */
const longest = 1000;

const version = String.raw`\(version [^()]*(?:\([^()]*\))?[^()]*\)`;
const trailer = new RegExp(String.raw`\(([A-Z][A-Z0-9_]{2,})\)\s*(?:${version})?[\s.]*$`);
/** The longest trailer, in characters. Matching takes time that grows with its square, and a text quotes what it likes. */
const longestTrailer = 500;

/**
 * Reads an error of ClickHouse: `Code: 60. DB::Exception: <message> (UNKNOWN_TABLE) (version 26.7.2.1)`, where the
 * parts may be repeated. The code comes from the header where there is one; undefined if the text is not such an error.
 */
export function parseServerError(body: string, header: string | undefined): RequestFailure | undefined {
  const code = header ?? /^\s*(?:__exception__\s+)?(?:\S+ )?Code: (\d+)/.exec(body)?.[1];
  if (code === undefined || !/^\d{1,6}$/.test(code)) return undefined;
  let text = body.trim();
  let name = `code_${code}`;
  for (;;) {
    const last = text.slice(-longestTrailer);
    const match = trailer.exec(last);
    if (match === null) break;
    name = match[1] ?? name;
    text = text.slice(0, text.length - last.length + match.index).trimEnd();
  }
  text = text.replace(/^(?:Code: \d+\.\s*(?:(?:DB|Coordination)::)?\w*Exception: )+/, "").trim();
  return { from: "server", code: Number(code), name, text: clipped(text) };
}

/** One line of at most 1000 characters; the end is kept, since ClickHouse names the row and the view there. */
export function clipped(text: string): string {
  return clippedTo(text, longest);
}

/** An OpenSSL error that ends a write has the code EPROTO. */
const tls = /^(EPROTO$|ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT|UNABLE_TO_)/;

/** Error codes that concern this process or its machine, with the remedy. */
const own = new Map([
  ["EMFILE", "this process has too many files open: raise its limit of open files (ulimit -n, LimitNOFILE)"],
  ["ENFILE", "this machine has too many files open: raise fs.file-max"],
  ["EADDRNOTAVAIL", "this machine has no free port for a connection: too many were made in the last minute"],
]);

/**
 * Reads an error that the client threw. `sent`: whether any part of the request may have reached the server. The error
 * itself does not say this: a reset, a TLS error or an unreachable host is possible before the connection is made, and
 * after the whole body was sent.
 */
export function parseClientError(error: unknown, sent: boolean, hide: Hide = foreignText): RequestFailure {
  const fields = errorFields(error);
  const [code, message] = [fields.code, hide(fields.message)];
  if (code === targetNotAllowed) return { from: "policy", text: `${targetNotAllowed}: ${message}` };
  if (code.startsWith("HPE_")) return { from: "garbled", text: `the answer is not HTTP (${code})` };
  const said = clipped(code === "" || message.includes(code) ? message : `${message} (${code})`);
  if (tls.test(code)) {
    const text = `TLS failed: ${clipped(message)}`;
    return sent ? { from: "network", sent, text } : { from: "settings", text };
  }
  const reason = own.get(code);
  return { from: "network", sent, text: reason === undefined ? said : `${reason}: ${said}` };
}

/** An error for several addresses, tried in turn, has the details in its inner errors. */
function errorFields(error: unknown): { code: string; message: string } {
  const outer = (error ?? {}) as { errors?: unknown } & Fields;
  const inner = ((Array.isArray(outer.errors) ? outer.errors[0] : outer) ?? {}) as Fields;
  return {
    code: asText(outer.code) || asText(inner.code),
    message: asText(outer.message) || asText(inner.message) || "no reason given",
  };
}

type Fields = Partial<Record<"code" | "message", unknown>>;

function asText(value: unknown): string {
  return typeof value === "string" ? value : "";
}
