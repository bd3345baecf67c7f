import type { Answer, Failure } from "../../core/sink.ts";
import { strainOf, transientCodes } from "./server-state.ts";
import type { Trouble } from "./trouble.ts";

/** What is known of the target when an insert fails. */
export interface Target {
  /** Views that an insert into the table feeds, as `database.view`, at any depth. */
  views: readonly string[];
  /** Rows of the block. */
  rows: number;
  /** One part for sure, with no view behind it: any error then means that nothing was written. */
  isOnePart: boolean;
}

/** An answer that is not ok. */
export type FailedAnswer = Exclude<Answer, { kind: "ok" }>;

/** About a value of a row: parsing, types, ranges, constraints. */
const rowCodes = new Set([
  6, 25, 26, 27, 38, 41, 53, 69, 70, 72, 117, 130, 131, 190, 321, 349, 376, 407, 441, 467, 469, 632, 675, 676, 691,
]);

/** Raised before the first part is written: login, rights, unknown database, table or column, the statement itself. */
const earlyCodes = new Set([16, 47, 60, 62, 73, 81, 115, 164, 192, 193, 194, 195, 291, 452, 497, 516]);

/** Says itself that it does not know whether the insert took place. */
const unknownStatus = 319;
const violatedConstraint = 469;
const tooManyParts = 252;

/**
 * What an insert's trouble means for its batch (delivery: the three answers, and the classes of a server's no).
 * `refused` is claimed only where nothing was written for sure.
 */
export function insertAnswer(trouble: Trouble, target: Target): FailedAnswer {
  if (trouble.from !== "server")
    return { kind: wroteNothing(trouble) ? "refused" : "unknown", failure: otherFailure(trouble) };
  const failure = serverFailure(trouble, target);
  return { kind: isRefusal(failure, trouble.code, target) ? "refused" : "unknown", failure };
}

/** The same for statements that write no rows: no row of ours can be at fault. */
export function statementAnswer(trouble: Trouble): FailedAnswer {
  // Where even a small statement is not understood, it is another port, until it is found to be otherwise.
  if (trouble.from === "garbled") return statementAnswer({ ...trouble, from: "protocol" });
  const failure =
    trouble.from === "server" ? serverFailure(trouble, { views: [], rows: 0, isOnePart: true }) : otherFailure(trouble);
  return { kind: "refused", failure: failure.class === "row" ? { ...failure, class: "setup" } : failure };
}

function wroteNothing(trouble: Exclude<Trouble, { from: "server" }>): boolean {
  if (trouble.from === "network") return !trouble.sent;
  return trouble.from === "settings" || trouble.from === "protocol";
}

const httpPort =
  "set connection_params.http_port to the port of ClickHouse's HTTP interface, usually 8123, or 8443 with TLS";

/** Errors without a code: the network, an answer that is not ClickHouse's, or settings that cannot work. */
function otherFailure(trouble: Exclude<Trouble, { from: "server" }>): Failure {
  switch (trouble.from) {
    case "network":
      return {
        class: "transient",
        name: "network_io",
        text: `no answer: ${trouble.text}`,
        connection: trouble.sent ? "lost" : "none",
      };
    case "foreign":
      return {
        class: "transient",
        name: "foreign_answer",
        text: `an HTTP answer that is not ClickHouse's to this statement: ${trouble.text}; whatever stands on the way has to hand on query_id and the X-ClickHouse headers as they are`,
      };
    case "http": {
      const isPassing = trouble.status >= 500 || trouble.status === 429 || trouble.status === 408;
      const text = `an HTTP answer ${trouble.status} that is not ClickHouse's: ${trouble.text}`;
      return { class: isPassing ? "transient" : "setup", name: `http_${trouble.status}`, text };
    }
    case "protocol":
      return { class: "setup", name: "no_http", text: `this is not an HTTP port: ${trouble.text}; ${httpPort}` };
    case "garbled":
      return { class: "transient", name: "garbled_answer", text: `${trouble.text}; if it stays so, ${httpPort}` };
    case "settings":
      return { class: "setup", name: "settings", text: trouble.text };
    default:
      return trouble satisfies never;
  }
}

function serverFailure(trouble: Extract<Trouble, { from: "server" }>, target: Target): Failure {
  const { code, name, text } = trouble;
  const said = { code, name, text: `ClickHouse says ${name} (code ${code}): ${text}` };
  if (code === tooManyParts && text.includes("max_partitions_per_insert_block"))
    return { class: "partitions", ...said };
  const strain = strainOf(code, text);
  if (strain !== undefined)
    return { class: "transient", ...said, text: `ClickHouse cannot now: ${strain}; ${said.text}` };
  if (transientCodes.has(code)) return { class: "transient", ...said };
  if (isFromView(text, target)) return { class: "view", ...said };
  if (!rowCodes.has(code)) return { class: "setup", ...said };
  const row = isPushing(text) ? undefined : rowOf(code, text, target.rows);
  return { class: "row", ...said, ...(row === undefined ? {} : { row }) };
}

function isRefusal(failure: Failure, code: number, target: Target): boolean {
  if (isFromView(failure.text, target) || isPushing(failure.text) || code === unknownStatus) return false;
  return target.isOnePart || failure.class === "partitions" || failure.row !== undefined || earlyCodes.has(code);
}

/**
 * `…: while pushing to view d.v`, at the very end, where nothing of an event can stand: what a text quotes of one ends
 * with a quote. Only views that are known to hang on the table count.
 */
function isFromView(text: string, { views }: Target): boolean {
  const end = withoutQuoting(text)
    .replace(/(?:: While executing \w+|\.)+$/, "")
    .replace(/ \([^()]*\)$/, "");
  return views.some((view) => end.endsWith(`: while pushing to view ${withoutQuoting(view)}`));
}

/** Names are quoted where they are odd, and what they hold is escaped. */
function withoutQuoting(text: string): string {
  return text.replaceAll(/[`\\]/g, "");
}

/** The rows were on their way to some view, perhaps one that was made a moment ago: the table may hold them. */
function isPushing(text: string): boolean {
  return /: while pushing to view [^']*$/.test(text);
}

/**
 * The row that an error names, from 0. Texts count from 1. A constraint names its row before it quotes values; a parse
 * error names it after what it quotes.
 */
function rowOf(code: number, text: string, rows: number): number | undefined {
  const named =
    code === violatedConstraint
      ? /is violated at row (\d{1,9})\. Expression: /.exec(text)
      : [...text.matchAll(/\(at row (\d{1,9})\)/g)].at(-1);
  const row = Number(named?.[1] ?? 0) - 1;
  return row >= 0 && row < rows ? row : undefined;
}
