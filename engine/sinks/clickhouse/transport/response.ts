import { clipped, parseServerError } from "./request-error.ts";
import type { RequestFailure } from "./request-error.ts";

/** The complete response to a statement. */
export interface HttpResponse {
  /** `query_id` of the statement. */
  queryId: string;
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  text: string;
}

const queryIdHeader = "X-ClickHouse-Query-Id";
const summaryHeader = "X-ClickHouse-Summary";
const exceptionHeader = "X-ClickHouse-Exception-Code";

/** Matched only at the very start, because an error may quote an event with the same words. */
const nativePort = /^\s*Port \d+ is for clickhouse-client program/;

/**
 * Why a response does not confirm its statement (docs/delivery-protocol.md, Answers); undefined if it does. A proxy may
 * answer 200 as well, so only ClickHouse's own answer to this statement counts: it has the id of the query, and for an
 * insert a summary and no body.
 */
export function failureOf(response: HttpResponse, isInsert: boolean): RequestFailure | undefined {
  const { status, text, queryId } = response;
  if (nativePort.test(text)) return { from: "protocol", text: clipped(text) };
  const id = headerOf(response, queryIdHeader);
  if (id !== undefined && id !== queryId) {
    return foreign(`it is for another statement: expected ${queryIdHeader}: ${queryId}, got ${id}`, text);
  }
  const code = headerOf(response, exceptionHeader);
  if (code !== undefined || status !== 200 || (isInsert && text !== "")) return errorIn(response, code);
  if (id === undefined) return foreign(`it has no header ${queryIdHeader}`, text);
  const summary = headerOf(response, summaryHeader);
  if (!isInsert || isObject(summary)) return undefined;
  return foreign(`expected a JSON object in ${summaryHeader}, got ${summary ?? "no such header"}`, text);
}

function errorIn({ status, text }: HttpResponse, code: string | undefined): RequestFailure {
  const error = parseServerError(text, code);
  if (error !== undefined) return error;
  if (status >= 300) return { from: "http", status, text: clipped(text) };
  return foreign(`expected status 200 and no body, got ${status}`, text);
}

function foreign(reason: string, text: string): RequestFailure {
  const body = text === "" ? "an empty body" : `the body ${text}`;
  return { from: "foreign", text: clipped(`${reason}, and ${body}`) };
}

function headerOf({ headers }: HttpResponse, name: string): string | undefined {
  const value = headers[name.toLowerCase()];
  return Array.isArray(value) ? value.join(", ") : value;
}

function isObject(json: string | undefined): boolean {
  try {
    const value: unknown = JSON.parse(json ?? "");
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
