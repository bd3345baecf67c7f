/** Why a statement got no good answer. `failures.ts` says what that means for a batch. */
export type RequestFailure =
  /** ClickHouse answered with an error. `text` is its message without code and version. */
  | { from: "server"; code: number; name: string; text: string }
  /** Something answered in HTTP with an error that is not ClickHouse's: a proxy, another service. */
  | { from: "http"; status: number; text: string }
  /** A good HTTP answer that is not ClickHouse's answer to this statement. */
  | { from: "foreign"; text: string }
  /** The port speaks ClickHouse's native protocol, as its answer says: the server read nothing further. */
  | { from: "protocol"; text: string }
  /** The bytes that came back are not HTTP. */
  | { from: "garbled"; text: string }
  /** No answer. `sent`: whether the statement, or a part of it, may have reached the server. */
  | { from: "network"; sent: boolean; text: string }
  /** No connection can be made with these settings, whatever the server does: certificate, TLS, address. Nothing was sent. */
  | { from: "settings"; text: string };

/** Thrown by whatever sends a statement. `asAnswer` turns it into an answer. */
export class RequestError extends Error {
  readonly failure: RequestFailure;

  constructor(failure: RequestFailure) {
    super(failure.text);
    this.name = "RequestError";
    this.failure = failure;
  }
}

/** Unknown column or table, no right to read it. */
const unreadableCodes = new Set([47, 60, 291, 497]);

/** Whether a SELECT from a table of the system failed because this server, or this user, has nothing to read there. */
export function isUnreadable(error: unknown): boolean {
  return error instanceof RequestError && error.failure.from === "server" && unreadableCodes.has(error.failure.code);
}

/** Longest text of a server that is passed on, in characters. */
const longest = 1000;

const version = String.raw`\(version [^()]*(?:\([^()]*\))?[^()]*\)`;
const trailer = new RegExp(String.raw`\s*\(([A-Z][A-Z0-9_]{2,})\)\s*(?:${version})?[\s.]*$`);

/**
 * Reads an error of ClickHouse: `Code: 60. DB::Exception: <message> (UNKNOWN_TABLE) (version 26.7.2.1)`, where the
 * parts may be repeated. The code comes from the header where there is one; undefined if the text is no such error.
 */
export function parseServerError(body: string, header: string | undefined): RequestFailure | undefined {
  const code = header ?? /^\s*(?:__exception__\s+)?(?:\S+ )?Code: (\d+)/.exec(body)?.[1];
  if (code === undefined || !/^\d{1,6}$/.test(code)) return undefined;
  let text = body.trim();
  let name = `code_${code}`;
  for (let match = trailer.exec(text); match !== null; match = trailer.exec(text)) {
    name = match[1] ?? name;
    text = text.slice(0, match.index);
  }
  text = text.replace(/^(?:Code: \d+\.\s*(?:DB::)?(?:NetException|Exception): )+/, "").trim();
  return { from: "server", code: Number(code), name, text: clipped(text) };
}

/** One line of at most 1000 characters; the end is kept, since ClickHouse names the row and the view there. */
export function clipped(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= longest ? line : `${line.slice(0, longest / 2)} … ${line.slice(-longest / 2)}`;
}

/** OpenSSL's errors come as EPROTO where they end a write. */
const tls = /^(EPROTO$|ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT|UNABLE_TO_)/;

/** Error codes of this process or its machine, with the remedy. */
const own = new Map([
  ["EMFILE", "this process has too many files open: raise its limit of open files (ulimit -n, LimitNOFILE)"],
  ["ENFILE", "this machine has too many files open: raise fs.file-max"],
  ["EADDRNOTAVAIL", "this machine has no free port for a connection: too many were made in the last minute"],
]);

/**
 * Reads an error that the client threw instead of giving an answer. `sent`: whether anything of the request may have
 * reached the server. The error itself does not say so: a reset, a TLS error or an unreachable host may come before the
 * connection is made, and after the whole body was taken.
 */
export function parseClientError(error: unknown, sent: boolean): RequestFailure {
  const { code, message } = errorFields(error);
  if (code.startsWith("HPE_")) return { from: "garbled", text: `the answer is no HTTP (${code})` };
  const said = clipped(code === "" || message.includes(code) ? message : `${message} (${code})`);
  if (tls.test(code)) {
    const text = `TLS failed: ${clipped(message)}`;
    return sent ? { from: "network", sent, text } : { from: "settings", text };
  }
  const reason = own.get(code);
  return { from: "network", sent, text: reason === undefined ? said : `${reason}: ${said}` };
}

/** An error of several addresses tried in turn carries its facts in the errors within. */
function errorFields(error: unknown): { code: string; message: string } {
  const outer = (error ?? {}) as { errors?: unknown } & Fields;
  const inner = (Array.isArray(outer.errors) ? outer.errors[0] : outer) as Fields;
  return {
    code: asText(outer.code) || asText(inner.code),
    message: asText(outer.message) || asText(inner.message) || "no reason given",
  };
}

type Fields = Partial<Record<"code" | "message", unknown>>;

function asText(value: unknown): string {
  return typeof value === "string" ? value : "";
}
