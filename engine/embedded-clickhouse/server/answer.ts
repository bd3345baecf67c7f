import type { ServerResponse } from "node:http";
import { promisify } from "node:util";
import { brotliCompress, deflate, gzip } from "node:zlib";
import type { Exception } from "./exception.ts";
import type { QueryRequest } from "./request.ts";

const encoders = { gzip: promisify(gzip), br: promisify(brotliCompress), deflate: promisify(deflate) };

/** The figures in the headers of an answer. */
export interface AnswerStats {
  format: string;
  /** Rows of the result, if the statement has one. */
  resultRows?: number;
  /** Rows of an insert, where the engine counts them, including those dropped as repeats. */
  writtenRows?: number;
  elapsedSeconds: number;
}

/** Answers with a result. */
export async function answer(
  response: ServerResponse,
  bytes: Uint8Array,
  facts: AnswerStats,
  compression: QueryRequest["compression"],
): Promise<void> {
  response.setHeader("Content-Type", contentType(facts.format));
  response.setHeader("X-ClickHouse-Format", facts.format);
  response.setHeader("X-ClickHouse-Summary", summary(facts, bytes.length));
  if (compression === undefined || bytes.length === 0) return send(response, 200, bytes);
  response.setHeader("Content-Encoding", compression);
  send(response, 200, await encoders[compression](bytes));
}

/** Answers with an exception, in the format that clients parse. */
export function answerException(response: ServerResponse, exception: Exception, version: string): void {
  if (exception.status === 401) response.setHeader("WWW-Authenticate", 'Basic realm="ClickHouse server HTTP API"');
  response.setHeader("Content-Type", "text/plain; charset=UTF-8");
  response.setHeader("X-ClickHouse-Exception-Code", exception.code);
  send(response, exception.status, Buffer.from(exception.body(version)));
}

export function send(response: ServerResponse, status: number, bytes: Uint8Array | string): void {
  response.statusCode = status;
  response.setHeader("Content-Length", Buffer.byteLength(bytes));
  response.end(bytes);
}

/** All figures are strings, as in ClickHouse. Unknown figures are left out. */
function summary(facts: AnswerStats, bytes: number): string {
  const figures = {
    read_rows: facts.writtenRows,
    result_rows: facts.resultRows,
    written_rows: facts.writtenRows,
    result_bytes: bytes,
    elapsed_ns: Math.round(facts.elapsedSeconds * 1e9),
  };
  return JSON.stringify(figures, (_, value: unknown) => (typeof value === "number" ? String(value) : value));
}

function contentType(format: string): string {
  if (/^JSON.*EachRow/.test(format)) return "application/x-ndjson; charset=UTF-8";
  if (format.startsWith("JSON")) return "application/json; charset=UTF-8";
  if (format.startsWith("CSV")) return "text/csv; charset=UTF-8; header=absent";
  if (/^(?:TSV|TabSeparated)/.test(format)) return "text/tab-separated-values; charset=UTF-8";
  return /^(?:RowBinary|Native|Parquet|Arrow|ORC|Avro)/.test(format)
    ? "application/octet-stream"
    : "text/plain; charset=UTF-8";
}
