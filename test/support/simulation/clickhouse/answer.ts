import type { Exception } from "../../../../engine/embedded-clickhouse/server/exception.ts";
import type { RequestTrouble } from "./trouble.ts";

/** The server that worked on a request is not there any more. */
export class ServerGone extends Error {}

/** What came of a statement. */
export interface Result {
  /** Rows of JSON, each with its line break, for a SELECT. */
  text: string;
  /** Rows that an insert brought, dropped ones included. */
  written: number;
  error?: Exception;
}

export interface AnswerFacts {
  queryId: string;
  version: string;
}

/** The head and the body of an answer, as they go over the wire, and whether the connection ends after them. */
export interface Wire {
  head: string;
  body: string;
  isLast: boolean;
}

/** The answer to a statement, in chunks, as ClickHouse sends it; changed by the trouble that the request has. */
export function wireOf(result: Result, { queryId, version }: AnswerFacts, trouble?: RequestTrouble): Wire {
  const { error, text, written } = result;
  const isLate = trouble?.kind === "late error";
  const said = error?.body(version) ?? text;
  const summary = `{"read_rows":"${written}","written_rows":"${written}","result_rows":"0","elapsed_ns":"1000000"}`;
  const head = [
    `HTTP/1.1 ${error === undefined || isLate ? "200 OK" : `${error.status} Error`}`,
    "Connection: Keep-Alive",
    `Content-Type: ${error === undefined ? "application/x-ndjson" : "text/plain"}; charset=UTF-8`,
    "X-ClickHouse-Server-Display-Name: simulated",
    "Transfer-Encoding: chunked",
    `X-ClickHouse-Query-Id: ${trouble?.kind === "other query" ? "00000000-0000-4000-8000-000000000000" : queryId}`,
    "X-ClickHouse-Timezone: UTC",
    ...(error !== undefined && !(isLate && trouble.at === "body")
      ? [`X-ClickHouse-Exception-Code: ${error.code}`]
      : []),
    "Keep-Alive: timeout=10, max=9999",
    `X-ClickHouse-Summary: ${trouble?.kind === "malformed summary" ? '{"read_rows":"' : summary}`,
  ];
  const body = said === "" ? "0\r\n\r\n" : `${Buffer.byteLength(said).toString(16)}\r\n${said}\r\n0\r\n\r\n`;
  return changed({ head: `${head.join("\r\n")}\r\n\r\n`, body, isLast: false }, trouble);
}

function changed(wire: Wire, trouble: RequestTrouble | undefined): Wire {
  switch (trouble?.kind) {
    case "garbled":
      return { ...wire, ...garbled(wire, trouble.at), isLast: true };
    case "truncated":
      return { ...wire, body: wire.body.slice(0, -3), isLast: true };
    default:
      return wire;
  }
}

function garbled({ head, body }: Wire, at: "status" | "header" | "chunk"): Pick<Wire, "head" | "body"> {
  if (at === "status") return { head: head.replace("HTTP/1.1", "HTP/1.1"), body };
  if (at === "header") return { head: head.replace("Keep-Alive:", "Keep\0Alive:"), body };
  return { head, body: `xyz\r\n${body}` };
}

/** The answer to `/ping`, which asks nothing but whether the server is there. */
export const pong: Wire = {
  head: "HTTP/1.1 200 OK\r\nConnection: Keep-Alive\r\nKeep-Alive: timeout=10\r\nContent-Length: 4\r\n\r\n",
  body: "Ok.\n",
  isLast: false,
};

/** What a proxy says in the server's place, if the trouble is one of a proxy. */
export function proxyAnswer(trouble: RequestTrouble | undefined): Wire | undefined {
  switch (trouble?.kind) {
    case "foreign ok":
      return ofProxy("200 OK", "", "");
    case "gateway":
      return ofProxy(`${trouble.status} Gateway`, "", "<html>the upstream is not there</html>");
    case "redirect":
      return ofProxy(`${trouble.status} Moved`, "Location: http://elsewhere.example/\r\n", "");
    default:
      return undefined;
  }
}

function ofProxy(status: string, headers: string, body: string): Wire {
  const head = `HTTP/1.1 ${status}\r\nServer: proxy\r\n${headers}Content-Length: ${body.length}\r\n\r\n`;
  return { head, body, isLast: false };
}
