import type { Draw } from "../network.ts";

/** What goes wrong with one request. Unless it says otherwise, the statement is carried out. */
export type RequestTrouble =
  /** The server answers with an error after so many partitions, none by default; of a statement without rows: at once. */
  | { kind: "error"; code: number; text?: string; after?: number }
  /** The server begins so much later: it carries the statement out even if the client has gone. */
  | { kind: "begins late"; milliseconds: number }
  /** The answer comes so much later. */
  | { kind: "answers late"; milliseconds: number }
  /** The connection is reset instead of the answer; with `later` at once, and the statement is carried out after that. */
  | { kind: "answer lost"; later?: number }
  /** The connection is reset when so many bytes of the body were there; nothing is carried out. */
  | { kind: "reset"; bytes: number }
  /** The answer is no HTTP from there on. */
  | { kind: "garbled"; at: "status" | "header" | "chunk" }
  /** The answer ends before it is complete. */
  | { kind: "truncated" }
  /** A proxy answers 200 with nothing, and never reached the server. */
  | { kind: "foreign ok" }
  /** A proxy answers for the server, which carries the statement out before that, so much later, or never. */
  | { kind: "gateway"; status: 502 | 503 | 504; reaches: "before" | "never" | { later: number } }
  /** A proxy sends the client elsewhere, and never reached the server. */
  | { kind: "redirect"; status: 301 | 302 | 307 | 308 }
  /** The answer comes byte for byte, or nearly, with so many milliseconds between. */
  | { kind: "slow"; milliseconds: number }
  /** The answer begins as 200 and then names an error, which came after so many partitions, none by default. */
  | { kind: "late error"; code: number; at: "header" | "body"; after?: number }
  /** The summary of the answer is no JSON. */
  | { kind: "malformed summary" }
  /** The answer is one to another statement, by its query id. */
  | { kind: "other query" };

/** An error in time of trouble: its code and its text. */
const errors: readonly (readonly [code: number, text: string])[] = [
  [252, "Too many parts (3001 with average size of 1.00 KiB). Merges are processing significantly slower than inserts"],
  [241, "(total) memory limit exceeded: would use 9.00 GiB, maximum: 8.00 GiB"],
  [242, "Table is in readonly mode (replica path: /clickhouse/tables/t/replicas/a)"],
  [159, "Timeout exceeded: elapsed 30.1 seconds, maximum: 30"],
  [439, "Cannot schedule a task: no free thread (timeout=0)"],
  [202, "Too many simultaneous queries. Maximum: 100"],
  [319, "Insert into table is in unknown status: quorum was not reached"],
  [999, "Coordination error: Connection loss"],
];
/** Errors of the setup: they come before the first part. */
const setupErrors: readonly (readonly [code: number, text: string])[] = [
  [60, "Table d.t does not exist."],
  [81, "Database d does not exist."],
  [516, "default: Authentication failed: password is incorrect, or there is no user with such name."],
];

/** The text of an error without one of its own. */
export function textOf(code: number): string {
  return [...errors, ...setupErrors].find(([known]) => known === code)?.[1] ?? `Something of code ${code}.`;
}

type Maker = (draw: Draw) => RequestTrouble;

const makers: readonly Maker[] = [
  (draw) => ({ kind: "error", code: errors[draw(errors.length)]![0], after: draw(4) }),
  (draw) => ({ kind: "error", code: setupErrors[draw(setupErrors.length)]![0] }),
  (draw) => ({ kind: "begins late", milliseconds: 1 + draw(400_000) }),
  (draw) => ({ kind: "answers late", milliseconds: 1 + draw(400_000) }),
  () => ({ kind: "answer lost" }),
  (draw) => ({ kind: "answer lost", later: 1 + draw(60_000) }),
  (draw) => ({ kind: "reset", bytes: draw(2) * draw(100) }),
  (draw) => ({ kind: "garbled", at: (["status", "header", "chunk"] as const)[draw(3)]! }),
  () => ({ kind: "truncated" }),
  () => ({ kind: "foreign ok" }),
  (draw) => ({ kind: "gateway", status: ([502, 503, 504] as const)[draw(3)]!, reaches: drawReach(draw) }),
  (draw) => ({ kind: "redirect", status: ([301, 302, 307, 308] as const)[draw(4)]! }),
  (draw) => ({ kind: "slow", milliseconds: 1 + draw(20) }),
  (draw) => ({
    kind: "late error",
    code: errors[draw(errors.length)]![0],
    at: (["header", "body"] as const)[draw(2)]!,
    after: draw(4),
  }),
  () => ({ kind: "malformed summary" }),
  () => ({ kind: "other query" }),
];

function drawReach(draw: Draw): Extract<RequestTrouble, { kind: "gateway" }>["reaches"] {
  return (["before", "never", { later: 1 + draw(60_000) }] as const)[draw(3)]!;
}

/** After how many milliseconds a statement is carried out that was answered first; undefined for any other. */
export function laterOf(trouble: RequestTrouble | undefined): number | undefined {
  if (trouble?.kind === "answer lost") return trouble.later;
  return trouble?.kind === "gateway" && typeof trouble.reaches === "object" ? trouble.reaches.later : undefined;
}

/** Whether the server ever sees the statement. */
export function isReached(trouble: RequestTrouble | undefined): boolean {
  if (trouble?.kind === "gateway") return trouble.reaches !== "never";
  return trouble?.kind !== "foreign ok" && trouble?.kind !== "redirect";
}

/** Any trouble. */
export function drawTrouble(draw: Draw): RequestTrouble {
  return makers[draw(makers.length)]!(draw);
}
