import { isObject } from "../../../event/objects.ts";
import type { Hide } from "../../../peers/hidden-secrets.ts";
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
const nativePort = /^\s*Port \d{1,5} is for clickhouse-client program/;

/** How an error of ClickHouse begins, whatever passed it on without its headers. */
const exceptionText = /^\s*(?:__exception__\s+)?(?:\S+ )?Code: \d{1,6}[.,] (?:DB::|e\.displayText\(\))/;

/**
 * Why a response does not confirm its statement (docs/delivery-protocol.md, Answers); undefined if it does. A proxy may
 * answer 200 as well, so only ClickHouse's own answer to this statement counts: it has the id of the query, and for an
 * insert a summary and no body.
 *
 * `hide` removes the secrets of the connection. Text of an answer is shown only where it is ClickHouse's own: who writes
 * a pipeline file must not read pages of other servers by it.
 */
export function failureOf(answer: HttpResponse, isInsert: boolean, hide: Hide): RequestFailure | undefined {
  const response = { ...answer, text: hide(answer.text) };
  const { status, text, queryId } = response;
  const [native] = nativePort.exec(text) ?? [];
  if (native !== undefined) return { from: "protocol", text: clipped(native) };
  const id = headerOf(response, queryIdHeader);
  if (id !== undefined && id !== queryId) {
    return foreign(`it is for another statement: expected ${queryIdHeader}: ${queryId}, got ${hide(id)}`, response);
  }
  const code = headerOf(response, exceptionHeader);
  if (code !== undefined || status !== 200 || (isInsert && text !== "")) return errorIn(response, code);
  if (id === undefined) return foreign(`it has no header ${queryIdHeader}`, response);
  const summary = headerOf(response, summaryHeader);
  if (!isInsert || isObjectText(summary)) return undefined;
  const got = summary === undefined ? "no such header" : hide(summary);
  return foreign(`expected a JSON object in ${summaryHeader}, got ${got}`, response);
}

function errorIn(response: HttpResponse, code: string | undefined): RequestFailure {
  const { status, text } = response;
  const error = code !== undefined || exceptionText.test(text) ? parseServerError(text, code) : undefined;
  if (error !== undefined) return error;
  if (status >= 300) return { from: "http", status, text: contentOf(response) };
  return foreign(`expected status 200 and no body, got ${status}`, response);
}

function foreign(reason: string, response: HttpResponse): RequestFailure {
  return { from: "foreign", text: clipped(`${reason}, and ${contentOf(response)}`), body: response.text };
}

/** What came instead of ClickHouse's answer: its kind, and not its text. */
function contentOf(response: HttpResponse): string {
  if (response.text === "") return "an empty body";
  const [type = "unknown content"] =
    /^[\w.+-]{1,60}\/[\w.+-]{1,60}/.exec(headerOf(response, "content-type") ?? "") ?? [];
  return `a body of ${response.text.length} characters (${type})`;
}

function headerOf({ headers }: HttpResponse, name: string): string | undefined {
  const value = headers[name.toLowerCase()];
  return Array.isArray(value) ? value.join(", ") : value;
}

function isObjectText(json: string | undefined): boolean {
  try {
    return isObject(JSON.parse(json ?? ""));
  } catch {
    return false;
  }
}
