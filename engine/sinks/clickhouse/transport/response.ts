import { clipped, parseServerError } from "./request-error.ts";
import type { Trouble } from "./request-error.ts";

/** What came back for a statement, complete. */
export interface Said {
  /** `query_id` of the statement. */
  queryId: string;
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  text: string;
}

const queryIdHeader = "X-ClickHouse-Query-Id";
const summaryHeader = "X-ClickHouse-Summary";
const exceptionHeader = "X-ClickHouse-Exception-Code";

/** At the very start: what an error quotes of an event may say so too. */
const nativePort = /^\s*Port \d+ is for clickhouse-client program/;

/**
 * What is wrong with an answer; undefined for the one that says that all is well. Whatever stands on the way may answer
 * 200, so only ClickHouse's own answer to this very statement counts (delivery, words): it names the query, it sums up an
 * insert, and to an insert it has no body.
 */
export function troubleIn(said: Said, isInsert: boolean): Trouble | undefined {
  const { status, text, queryId } = said;
  if (nativePort.test(text)) return { from: "protocol", text: clipped(text) };
  const id = headerOf(said, queryIdHeader);
  if (id !== undefined && id !== queryId) {
    return foreign(`it is for another statement: expected ${queryIdHeader}: ${queryId}, got ${id}`, text);
  }
  const code = headerOf(said, exceptionHeader);
  if (code !== undefined || status !== 200 || (isInsert && text !== "")) return errorIn(said, code);
  if (id === undefined) return foreign(`it has no header ${queryIdHeader}`, text);
  const summary = headerOf(said, summaryHeader);
  if (!isInsert || isObject(summary)) return undefined;
  return foreign(`expected a JSON object in ${summaryHeader}, got ${summary ?? "no such header"}`, text);
}

function errorIn({ status, text }: Said, code: string | undefined): Trouble {
  const error = parseServerError(text, code);
  if (error !== undefined) return error;
  if (status >= 300) return { from: "http", status, text: clipped(text) };
  return foreign(`expected status 200 and no body, got ${status}`, text);
}

function foreign(reason: string, text: string): Trouble {
  const body = text === "" ? "an empty body" : `the body ${text}`;
  return { from: "foreign", text: clipped(`${reason}, and ${body}`) };
}

function headerOf({ headers }: Said, name: string): string | undefined {
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
