import type { Answer, Failure } from "../../../core/sink.ts";
import { type RequestFailure, RequestError } from "./request-error.ts";
import type { Connection } from "./connection.ts";

/** Facts about the target that decide what a failed insert means. */
export interface Target {
  /** Views that an insert into the table feeds, as `database.view`, at any depth. */
  views: readonly string[];
  /** Rows of the block. */
  rows: number;
  /** Whether the server makes one block of them, for sure: it then looks at all rows before it writes any. */
  isOneBlock: boolean;
}

/** An answer other than `ok`. */
export type FailedAnswer = Exclude<Answer, { kind: "ok" }>;

/**
 * Turns a RequestError of `work` into an answer that names the server and holds no password. Throws any other error.
 */
export async function asAnswer<Result>(
  connection: Connection,
  work: () => Promise<Result>,
  classify: (reason: RequestFailure) => FailedAnswer,
): Promise<Result | FailedAnswer> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    const { kind, failure } = classify(error.failure);
    const text = connection.redact(`${connection.name}: ${failure.text}`);
    return { kind, failure: { ...failure, text } };
  }
}

/** Codes about a value of a row: parsing, types, ranges, constraints. */
const rowCodes = new Set([
  6, 25, 26, 27, 38, 41, 53, 69, 70, 72, 117, 130, 131, 190, 321, 349, 376, 407, 441, 467, 469, 632, 675, 676, 691,
]);

/**
 * Codes of a refusal, each with why nothing was written then. Nothing else is one, also where an insert makes one part:
 * limits of time and KILL QUERY (159, 394) are looked at once more when everything is written.
 */
const refusals: ReadonlyMap<number, string> = new Map([
  [16, "no such column: names are resolved before the first block is read"],
  [47, "unknown identifier: likewise"],
  [60, "unknown table: likewise"],
  [81, "unknown database: likewise"],
  [62, "a syntax error: the statement is parsed first"],
  [73, "an unknown format: likewise"],
  [115, "an unknown setting: settings are applied before the statement runs"],
  [452, "a setting that the profile forbids: likewise"],
  [164, "a user or server that only reads: rights are checked before the statement runs"],
  [291, "no access to the database: likewise"],
  [497, "a missing right: likewise"],
  [192, "an unknown user: the login comes before the statement"],
  [193, "a wrong password: likewise"],
  [194, "a missing password: likewise"],
  [195, "an address that may not log in: likewise"],
  [516, "a failed login: likewise"],
]);

const violatedConstraint = 469;

/** Whether a constraint of the table refuses a row. */
export function isOfConstraint({ code }: Failure): boolean {
  return code === violatedConstraint;
}
const tooManyParts = 252;

/**
 * What the failure of an insert means for its batch (docs/delivery-protocol.md, Answers; When ClickHouse refuses).
 * `refused` only where nothing was written for sure.
 */
export function insertAnswer(reason: RequestFailure, target: Target): FailedAnswer {
  if (reason.from !== "server")
    return { kind: wroteNothing(reason) ? "refused" : "unknown", failure: otherFailure(reason) };
  const failure = serverFailure(reason, target);
  return { kind: isRefusal(failure, reason.code, target) ? "refused" : "unknown", failure };
}

/** The same for statements that write no rows: no row can be the cause. */
export function statementAnswer(reason: RequestFailure): FailedAnswer {
  // A port that does not understand a small statement is treated as a port of another protocol.
  if (reason.from === "garbled") return statementAnswer({ ...reason, from: "protocol" });
  const failure =
    reason.from === "server" ? serverFailure(reason, { views: [], rows: 0, isOneBlock: true }) : otherFailure(reason);
  return { kind: "refused", failure: failure.class === "row" ? { ...failure, class: "setup" } : failure };
}

function wroteNothing(reason: Exclude<RequestFailure, { from: "server" }>): boolean {
  if (reason.from === "network") return !reason.sent;
  return reason.from === "settings" || reason.from === "policy" || reason.from === "protocol";
}

const httpPort =
  "set connection_params.http_port to the port of ClickHouse's HTTP interface, usually 8123, or 8443 with TLS";

/** Errors without a code: the network, an answer that is not ClickHouse's, or settings that cannot work. */
function otherFailure(reason: Exclude<RequestFailure, { from: "server" }>): Failure {
  switch (reason.from) {
    case "network":
      return {
        class: "transient",
        name: "network_io",
        text: `no answer: ${reason.text}`,
        connection: reason.sent ? "lost" : "none",
      };
    case "foreign":
      return {
        class: "transient",
        name: "foreign_answer",
        text: `the HTTP answer is not ClickHouse's answer to this statement: ${reason.text}; a proxy must pass on query_id and the X-ClickHouse headers unchanged`,
      };
    case "answer":
      return { class: "transient", name: "unexpected_answer", text: reason.text };
    case "http": {
      const isPassing = reason.status >= 500 || reason.status === 429 || reason.status === 408;
      const text = `the HTTP answer with status ${reason.status} is not from ClickHouse: ${reason.text}`;
      return { class: isPassing ? "transient" : "setup", name: `http_${reason.status}`, text };
    }
    case "protocol":
      return { class: "setup", name: "no_http", text: `this is not an HTTP port: ${reason.text}; ${httpPort}` };
    case "garbled":
      return { class: "transient", name: "garbled_answer", text: `${reason.text}; if this persists, ${httpPort}` };
    case "settings":
      return { class: "setup", name: "settings", text: reason.text };
    case "policy":
      return { class: "setup", name: "target_not_allowed", text: reason.text };
    default:
      return reason satisfies never;
  }
}

function serverFailure(reason: Extract<RequestFailure, { from: "server" }>, target: Target): Failure {
  const { code, name, text } = reason;
  const said = { code, name, text: `ClickHouse says ${name} (code ${code}): ${text}` };
  if (code === tooManyParts && text.includes("max_partitions_per_insert_block"))
    return { class: "partitions", ...said };
  const lack = unavailability(code, text);
  if (lack !== undefined)
    return { class: "transient", ...said, text: `ClickHouse cannot run this now: ${lack}; ${said.text}` };
  if (transientCodes.has(code)) return { class: "transient", ...said };
  const view = viewIn(text, target);
  if (view !== undefined) return { class: "view", ...said, view };
  if (!rowCodes.has(code)) return { class: "setup", ...said };
  const row = isPushing(text) ? undefined : rowOf(code, text, target.rows);
  return { class: "row", ...said, ...(row === undefined ? {} : { row }) };
}

function isRefusal(failure: Failure, code: number, target: Target): boolean {
  if (failure.class === "view" || isPushing(failure.text)) return false;
  if (refusals.has(code) || failure.class === "partitions") return true;
  return failure.row !== undefined && target.isOneBlock;
}

/**
 * The view of an error that ends with `…: while pushing to view d.v`. At the very end it cannot be quoted from an event,
 * because a quotation ends with a quote. Only known views of the table count.
 */
function viewIn(text: string, { views }: Target): string | undefined {
  const end = withoutQuoting(text)
    .replace(/(?:: While executing \w+|\.)+$/, "")
    .replace(/ \([^()]*\)$/, "");
  return views.find((view) => end.endsWith(`: while pushing to view ${withoutQuoting(view)}`));
}

/** ClickHouse quotes and escapes unusual names. */
function withoutQuoting(text: string): string {
  return text.replaceAll(/[`\\]/g, "");
}

/** Whether the server was writing to any view, maybe one created just now: the table may have the rows. */
function isPushing(text: string): boolean {
  return /: while pushing to view [^']*$/.test(text);
}

/**
 * The row that an error names, counted from 0; the texts count from 1. A constraint error names its row before it
 * quotes values, a parse error after that.
 */
function rowOf(code: number, text: string, rows: number): number | undefined {
  const named =
    code === violatedConstraint
      ? /is violated at row (\d{1,9})\. Expression: /.exec(text)
      : [...text.matchAll(/\(at row (\d{1,9})\)/g)].at(-1);
  const row = Number(named?.[1] ?? 0) - 1;
  return row >= 0 && row < rows ? row : undefined;
}

/** Codes of a server that lacks a resource for a while, or that starts or stops: the same insert is retried. */
const transientCodes: ReadonlySet<number> = new Set([
  95, 96, 159, 173, 198, 201, 202, 203, 209, 210, 225, 236, 241, 242, 243, 244, 252, 254, 265, 279, 285, 286, 289, 290,
  297, 319, 364, 369, 384, 394, 411, 416, 425, 439, 473, 499, 500, 574, 667, 677, 695, 696, 700, 722, 734, 735, 738,
  745, 749, 762, 771, 776, 777, 778, 999, 1000,
]);

/** Errors of the operating system that a server reports, by their Linux number. */
const systemErrors: readonly [errno: number, words: string, reason: string][] = [
  [24, "Too many open files", "its process has too many files open: raise its limit of open files (LimitNOFILE)"],
  [23, "Too many open files in system", "its machine has too many files open: raise fs.file-max there"],
  [28, "No space left on device", "one of its disks is full: free space there"],
  [122, "Disk quota exceeded", "the quota of one of its disks is used up: free space there, or raise the quota"],
  [12, "Cannot allocate memory", "its machine is out of memory"],
  [11, "Resource temporarily unavailable", "it can start no more threads: raise its limit of processes (LimitNPROC)"],
];

/** Codes whose text quotes an error of the operating system: files, folders, threads, the standard library. */
const systemCodes: ReadonlySet<number> = new Set([
  74, 75, 76, 77, 87, 88, 172, 173, 204, 214, 239, 240, 272, 273, 294, 298, 299, 301, 303, 363, 400, 402, 411, 424, 425,
  439, 445, 458, 460, 461, 463, 468, 531, 566, 573, 586, 590, 615, 635, 641, 1000, 1001, 1002,
]);

/** What some codes mean, with the remedy. */
const meanings: ReadonlyMap<number, string> = new Map([
  [173, "it is out of memory"],
  [241, "the insert would take more memory than it allows"],
  [243, "one of its disks is full: free space there"],
  ...[225, 244, 999].map((code): [number, string] => [code, "it has no session with Keeper: check Keeper"]),
  [242, "the table is read-only as long as its server has no session with Keeper: check Keeper"],
  [394, "the statement was cancelled on the server"],
  [722, "it is being started and still loads its tables"],
]);

/** Which resource a server lacks for any statement: completes "ClickHouse cannot run this now: ...". */
function unavailability(code: number, text: string): string | undefined {
  return (systemCodes.has(code) ? systemUnavailability(text) : undefined) ?? meanings.get(code);
}

function systemUnavailability(text: string): string | undefined {
  const errno = Number(/\berrno: (\d+)\b/.exec(text)?.[1] ?? NaN);
  const found =
    systemErrors.find(([number]) => number === errno) ?? systemErrors.findLast(([, words]) => text.includes(words));
  return found?.[2];
}
