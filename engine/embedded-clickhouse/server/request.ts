import type { IncomingMessage } from "node:http";
import { raise } from "./exception.ts";

/** The parameters of a request. */
export interface QueryRequest {
  /** The statement, or its beginning, from the URL. */
  query: string;
  /** Whether it must not change anything: true for GET, which a mere link can send. */
  readsOnly: boolean;
  queryId: string | undefined;
  database: string | undefined;
  defaultFormat: string;
  /** Values of `{name:Type}`, as they were sent. */
  params: Map<string, string>;
  settings: Map<string, string>;
  session: { id: string; timeoutSeconds: number; mustExist: boolean } | undefined;
  /** The encoding of the answer, where the client requests one that is supported. */
  compression: "gzip" | "br" | "deflate" | undefined;
}

/** Parameters with their own meaning; every other one is a setting. */
const reserved: ReadonlySet<string> = new Set(
  (
    "query query_id database default_format user password quota_key role stacktrace session_id session_timeout " +
    "session_check close_session compress decompress buffer_size wait_end_of_query client_protocol_version " +
    "enable_http_compression"
  ).split(" "),
);

/** The longest run of a statement, in seconds, if the request sets no limit. */
export const maxExecutionTime = 300;

/** @throws Exception 36 or 48 for an invalid parameter. */
export function parseRequest(request: IncomingMessage, parameters: URLSearchParams): QueryRequest {
  for (const name of ["compress", "decompress"]) {
    if (isOn(parameters.get(name))) {
      throw raise("NOT_IMPLEMENTED", `Parameter ${name}=1 is not supported. Use Content-Encoding and Accept-Encoding.`);
    }
  }
  return {
    query: parameters.get("query") ?? "",
    readsOnly: request.method === "GET",
    queryId: parameters.get("query_id") || undefined,
    database: parameters.get("database") || headerOf(request, "x-clickhouse-database") || undefined,
    defaultFormat: parameters.get("default_format") || headerOf(request, "x-clickhouse-format") || "TabSeparated",
    params: paramsOf(parameters),
    settings: settingsOf(parameters),
    session: sessionOf(parameters),
    compression: isOn(parameters.get("enable_http_compression")) ? encodingOf(request) : undefined,
  };
}

function settingsOf(parameters: URLSearchParams): Map<string, string> {
  const settings = [...parameters].filter(([name]) => !reserved.has(name) && !name.startsWith("param_"));
  for (const [name] of settings) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      throw raise(
        "UNKNOWN_SETTING",
        `Setting ${JSON.stringify(name.slice(0, 64))} is neither a builtin setting nor started with the prefix.`,
      );
    }
  }
  const map = new Map(settings);
  if (Number(map.get("max_execution_time") ?? 1) === 0) map.set("max_execution_time", String(maxExecutionTime));
  // `readonly` comes last, because after it nothing can be set.
  const readonly = map.get("readonly");
  map.delete("readonly");
  return readonly === undefined ? map : map.set("readonly", readonly);
}

function paramsOf(parameters: URLSearchParams): Map<string, string> {
  const map = new Map<string, string>();
  for (const [name, value] of parameters) {
    if (!name.startsWith("param_")) continue;
    if (!/^param_[A-Za-z0-9_]+$/.test(name)) {
      throw raise("BAD_ARGUMENTS", `Invalid name of a query parameter: ${JSON.stringify(name.slice(0, 64))}.`);
    }
    map.set(name, value);
  }
  return map;
}

function sessionOf(parameters: URLSearchParams): QueryRequest["session"] {
  const id = parameters.get("session_id");
  if (!id) return undefined;
  const seconds = Number(parameters.get("session_timeout") ?? 60);
  if (!(seconds >= 0 && seconds <= 3600)) {
    throw raise("BAD_ARGUMENTS", `Session timeout must be from 0 to 3600 seconds, got ${seconds}.`);
  }
  return { id, timeoutSeconds: seconds, mustExist: isOn(parameters.get("session_check")) };
}

function encodingOf(request: IncomingMessage): QueryRequest["compression"] {
  const accepted = headerOf(request, "accept-encoding") ?? "";
  return (["br", "gzip", "deflate"] as const).find((name) => accepted.includes(name));
}

function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

function isOn(value: string | null): boolean {
  return value !== null && value !== "" && value !== "0" && value !== "false";
}
