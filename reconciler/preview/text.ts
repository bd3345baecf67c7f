import type { ChangeKind } from "../plan/change.ts";
import { fieldLines } from "../plan/render/index.ts";
import { counted, someOf } from "../plan/render/words.ts";
import { type Problem, withSuggestion } from "../language/problem.ts";
import { isEmptied } from "./tested-events.ts";
import { type ComparedSide, levelAsked, type PlanReport, type ReportedChange } from "./report.ts";

/** A line of a report, and what it is to the eye of its reader. */
export interface Line {
  text: string;
  tone?: Tone;
}

export type Tone = "heading" | "added" | "removed" | "warning" | "error";

const signs: Readonly<Record<ChangeKind, string>> = {
  create: "+",
  update: "~",
  rename: "~",
  stop: "~",
  resume: "~",
  terminate: "~",
  recreate: "-/+",
  delete: "-",
  refuse: "!",
  "no-op": "=",
};

/** Errors of files that are printed; `sluice validate` lists all. */
const mostErrors = 100;

/** A report for a terminal, line by line. */
export function linesOf(report: PlanReport): Line[] {
  const { environment, changes, notes } = report;
  return [
    ...(environment === undefined ? [] : [{ text: `environment ${environment}`, tone: "heading" as const }]),
    ...changes.flatMap(changeLines),
    ...errorLines(report),
    ...notes.map(({ text }): Line => ({ text: `note: ${text}` })),
    { text: summaryOf(report), tone: "heading" },
    ...(environment === undefined ? [] : [{ text: "" }]),
  ];
}

/** Such as `main to the working tree: 1 create, 2 update, 4 unchanged`, after the name of an environment. */
export function summaryOf({ environment, base, head, counts, errors }: PlanReport): string {
  const kinds = Object.entries(counts).map(([kind, count]) => `${count} ${kind}`);
  const found = [...kinds, ...(errors.length > 0 ? [counted(errors.length, "error")] : [])];
  const where = environment === undefined ? "" : `${environment}: `;
  return `${where}${nameOf(base)} to ${nameOf(head)}: ${found.length === 0 ? "no pipelines" : found.join(", ")}`;
}

function nameOf({ name, commit }: ComparedSide): string {
  if (commit === undefined) return name;
  const short = commit.slice(0, 12);
  return commit.startsWith(name) ? short : `${name} (${short})`;
}

/** Such as `update (rows)`, or `refused (ImmutableField)`. */
export function whatOf({ kind, cause, level, fields }: ReportedChange): string {
  if (level === "refuse") return `refused (${cause})`;
  if (kind === "no-op") return fields.length > 0 && cause === "InSync" ? "directives" : `left (${cause})`;
  return kind === "update" || kind === "rename" ? `${kind} (${level})` : kind;
}

/** Such as `Running, 12 events to write in 1 batch, lag 40, 3 keys of dedup, 2 dead letters`; empty where no server was asked. */
export function figuresText({ now }: ReportedChange): string {
  if (now === undefined) return "";
  const { status, events = 0, pending_batches, lag = 0, keys = 0, dead_letters, paused } = now;
  const { join_events = 0, join_rows = 0 } = now;
  return [
    paused === undefined ? status : `${status} and paused (${paused})`,
    counted(events, "event") && `${counted(events, "event")} to write`,
    counted(pending_batches, "prepared batch", "prepared batches"),
    lag === 0 ? "" : `lag ${lag}`,
    counted(keys, "key of dedup", "keys of dedup"),
    counted(join_events, "event in the join", "events in the join"),
    counted(join_rows, "joined row to write", "joined rows to write"),
    counted(dead_letters, "dead letter"),
  ]
    .filter(Boolean)
    .join(", ");
}

/** The sign of a change in front of its pipeline, as in a diff. */
export function signOf({ kind, level }: ReportedChange): string {
  return level === "refuse" ? signs.refuse : signs[kind];
}

function changeLines(change: ReportedChange): Line[] {
  const { level, pipeline_id, reason, fields } = change;
  const tone = level === "refuse" ? "error" : "heading";
  return [
    { text: `${signOf(change)} ${pipeline_id}: ${whatOf(change)}`, tone },
    { text: `    ${placeOf(change)}${reason}` },
    ...factsOf(change),
    ...fields.flatMap(fieldLines).map(diffLine),
    { text: "" },
  ];
}

/** Where a refusal has its cause, with a colon after it. */
export function placeOf({ level, file, line, column }: ReportedChange): string {
  return level === "refuse" && line !== undefined ? `${file}:${line}:${column}: ` : "";
}

function factsOf(change: ReportedChange): Line[] {
  const { asked_by, calls, costs, losses, warnings, tables, after, tests } = change;
  const toned = { tone: "warning" } as const;
  const figures = figuresText(change);
  return [
    ...(figures === "" ? [] : [{ text: `    now: ${figures}` }]),
    ...warnings.map(({ text }): Line => ({ text: `    warning: ${text}`, tone: "warning" })),
    ...(asked_by.length > 0 ? [{ text: `    class ${levelAsked(change)} is asked for by ${someOf(asked_by)}` }] : []),
    ...(calls.length > 0 ? [{ text: `    calls: ${calls.join(", ")}` }] : []),
    ...(after.length > 0 ? [{ text: `    after: ${after.join(", ")}` }] : []),
    ...costs.map(({ text }): Line => ({ text: `    cost: ${text}` })),
    ...(tests === undefined ? [] : [{ text: `    tests: ${tests.text}`, ...(isEmptied(tests) && toned) }]),
    ...(losses.length > 0
      ? [
          {
            text: `    a rollback does not restore: ${losses.map(({ text }) => text).join(", ")}`,
            tone: "warning" as const,
          },
        ]
      : []),
    ...tables.flatMap(({ text, statements }): Line[] => [
      { text: `    table: ${text}` },
      ...statements.map((statement) => ({ text: `      ${statement}` })),
    ]),
  ];
}

function diffLine(text: string): Line {
  if (text.startsWith("      - ")) return { text, tone: "removed" };
  return text.startsWith("      + ") ? { text, tone: "added" } : { text };
}

/** Errors of files that no reason says already. */
export function otherErrors({ errors, changes }: PlanReport): Problem[] {
  const said = new Map(changes.map(({ file, line, column, reason }) => [`${file}:${line}:${column}`, reason]));
  return errors.filter(({ file, line, column, message }) => !said.get(`${file}:${line}:${column}`)?.includes(message));
}

function errorLines(report: PlanReport): Line[] {
  const errors = otherErrors(report);
  const shown = errors.slice(0, mostErrors).map((one): Line => {
    const { file, line, column, code } = one;
    return { text: `${file}:${line}:${column}: error ${code}: ${withSuggestion(one)}`, tone: "error" };
  });
  const more = errors.length - shown.length;
  return more > 0 ? [...shown, { text: `${more} more errors: sluice validate lists all`, tone: "error" }] : shown;
}
