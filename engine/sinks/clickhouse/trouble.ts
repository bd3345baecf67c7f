/** What went wrong between a statement and its answer, before anybody judged what it means for a batch. */
export type Trouble =
  /** ClickHouse answered with an error. `text` is its message without code and version. */
  | { from: "server"; code: number; name: string; text: string }
  /** Something answered in HTTP that is not ClickHouse: a proxy, another service. */
  | { from: "http"; status: number; text: string }
  /** The port speaks ClickHouse's native protocol, or something else that is no HTTP. */
  | { from: "protocol"; text: string }
  /** No answer. `sent`: whether the statement may have reached the server. */
  | { from: "network"; sent: boolean; text: string }
  /** The connection cannot be made with these settings, whatever the server does: certificate, TLS, address. */
  | { from: "settings"; text: string };

/** Carries a trouble up to the one place that turns it into an answer. */
export class TroubleError extends Error {
  readonly trouble: Trouble;

  constructor(trouble: Trouble) {
    super(trouble.text);
    this.name = "TroubleError";
    this.trouble = trouble;
  }
}

/** Unknown column or table, no right to read it. */
const unreadableCodes = new Set([47, 60, 291, 497]);

/** Whether a SELECT from a table of the system failed because this server, or this user, has nothing to read there. */
export function isUnreadable(error: unknown): boolean {
  return error instanceof TroubleError && error.trouble.from === "server" && unreadableCodes.has(error.trouble.code);
}

/** Longest text of a server that is passed on, in characters. */
const longest = 1000;

const version = String.raw`\(version [^()]*(?:\([^()]*\))?[^()]*\)`;
const trailer = new RegExp(String.raw`\s*\(([A-Z][A-Z0-9_]{2,})\)\s*(?:${version})?[\s.]*$`);

/**
 * Reads an error of ClickHouse: `Code: 60. DB::Exception: <message> (UNKNOWN_TABLE) (version 26.7.2.1)`, where the
 * parts may be repeated. The code comes from the header where there is one; undefined if the text is no such error.
 */
export function parseServerError(body: string, header: string | undefined): Trouble | undefined {
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

/** Error codes of Node that mean: no connection was made, so nothing was sent. */
const unconnected =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EAI_FAIL|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENETDOWN|EADDRNOTAVAIL|ERR_SOCKET_CONNECTION_TIMEOUT)$/;
const certificate = /^(ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT|UNABLE_TO_)/;

/** Reads an error that the client threw instead of giving an answer. */
export function parseClientError(error: unknown): Trouble {
  const { code, syscall, message } = errorFields(error);
  if (code.startsWith("HPE_")) return { from: "protocol", text: `the answer is no HTTP (${code})` };
  if (certificate.test(code) || message.includes("wrong version number")) {
    return { from: "settings", text: `TLS failed: ${clipped(message)}` };
  }
  const sent = !unconnected.test(code) && syscall !== "connect" && syscall !== "getaddrinfo";
  return {
    from: "network",
    sent,
    text: clipped(code === "" || message.includes(code) ? message : `${message} (${code})`),
  };
}

/** An error of several addresses tried in turn carries its facts in the errors within. */
function errorFields(error: unknown): { code: string; syscall: string; message: string } {
  const outer = (error ?? {}) as { errors?: unknown } & Fields;
  const inner = (Array.isArray(outer.errors) ? outer.errors[0] : outer) as Fields;
  return {
    code: asText(outer.code) || asText(inner.code),
    syscall: asText(outer.syscall) || asText(inner.syscall),
    message: asText(outer.message) || asText(inner.message) || "no reason given",
  };
}

type Fields = Partial<Record<"code" | "syscall" | "message", unknown>>;

function asText(value: unknown): string {
  return typeof value === "string" ? value : "";
}
