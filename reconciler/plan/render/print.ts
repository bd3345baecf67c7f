import { diffLines } from "diff";
import { doesSomething } from "../change.ts";
import type { Change, ChangeKind, FieldChange, Plan } from "../change.ts";
import { levelOf } from "../level.ts";
import { lossText } from "./losses.ts";
import { cautionText, reasonText } from "./reasons.ts";

/** A plan for people: each change with its reason, the changed fields with their old and new values, and a summary. */
export function printPlan(plan: Plan): string {
  const shown = plan.changes.filter((change) => change.kind !== "no-op" || change.cause !== "InSync");
  const width = Math.max(0, ...shown.map(({ pipeline_id }) => pipeline_id.length));
  const lines = shown.flatMap((change) => [headline(change, width), ...details(change)]);
  return [...lines, summary(plan)].map(safe).join("\n");
}

/** One change as text, of which the reason may have been said before. */
export function printChange(change: Change, isReasonSaid: boolean): string {
  const lines = isReasonSaid ? details(change) : [headline(change, 0), ...details(change)];
  return lines.map(safe).join("\n");
}

/** Such as `1 create, 2 update, 1 refuse, 4 unchanged`. */
export function summary(plan: Plan): string {
  const counts = new Map<ChangeKind, number>();
  for (const { kind } of plan.changes) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const named = [...counts].filter(([kind]) => kind !== "no-op").map(([kind, count]) => `${count} ${kind}`);
  const unchanged = counts.get("no-op") ?? 0;
  if (unchanged > 0) named.push(`${unchanged} unchanged`);
  return named.length === 0 ? "nothing to do" : named.join(", ");
}

function headline(change: Change, width: number): string {
  const { pipeline_id, kind, why } = change;
  const what = kind === "update" ? `${kind} (${levelOf(change)})` : kind;
  return `${pipeline_id.padEnd(width)}  ${what.padEnd(16)}  ${where(change)}${reasonText(why)}`;
}

/** Where a refusal has its cause; the other changes need no place. */
function where({ kind, cause, file, line, column }: Change): string {
  if (file === undefined || line === undefined || column === undefined) return "";
  return kind === "refuse" || cause === "InvalidFile" ? `${file}:${line}:${column}: ` : "";
}

function details(change: Change): string[] {
  const { calls, after, cautions = [], fields } = change;
  const lost = doesSomething(change) ? (change.irreversible ?? []) : [];
  return [
    ...cautions.map((caution) => `    warning: ${cautionText(caution)}`),
    ...(calls.length > 0 ? [`    calls: ${calls.join(", ")}`] : []),
    ...(lost.length > 0 ? [`    a rollback does not restore: ${lost.map((loss) => lossText(loss)).join(", ")}`] : []),
    ...(after.length > 0 ? [`    after: ${after.join(", ")}`] : []),
    ...fields.flatMap((field) => fieldLines(field)),
  ];
}

/** A field on a line of its own, and below it its old and new value. The lines of values begin with `- ` and `+ `, after the same indent. */
export function fieldLines(field: FieldChange): string[] {
  return [`    ${field.path}${variablesText(field)}`, ...values(field)];
}

/** Such as ` (${var:TOPIC})`; empty where there are none. */
function variablesText({ variables = [] }: FieldChange): string {
  return variables.length === 0 ? "" : ` (${variables.map((name) => `\${var:${name}}`).join(", ")})`;
}

function values(field: FieldChange): string[] {
  if (field.secret === true) return ["      a secret, changed"];
  const { from, to } = field;
  if (typeof from === "string" && typeof to === "string" && `${from}${to}`.includes("\n"))
    return textDifference(from, to);
  return [
    ...(from === undefined ? [] : [`      - ${printed(from)}`]),
    ...(to === undefined ? [] : [`      + ${printed(to)}`]),
  ];
}

/** Lines that differ, up to which two texts are compared, as that takes the square of them; and lines that are shown. */
const [mostEdits, mostLines] = [300, 500];

function textDifference(from: string, to: string): string[] {
  const parts = diffLines(from, to, { maxEditLength: mostEdits }) ?? [
    { added: false, removed: true, value: from },
    { added: true, removed: false, value: to },
  ];
  const lines = parts.flatMap(({ added, removed, value }) => {
    const sign = added ? "+" : removed ? "-" : " ";
    return value
      .replace(/\n$/, "")
      .split("\n")
      .map((line) => `      ${sign} ${clean(line)}`);
  });
  const more = lines.length - mostLines;
  return more > 0 ? [...lines.slice(0, mostLines), `      … ${more} more lines`] : lines;
}

function printed(value: unknown): string {
  return clean(typeof value === "string" ? value : JSON.stringify(value));
}

/** One value on one line. */
function clean(text: string): string {
  return text.length > longest ? `${safe(text.slice(0, longest))}… (${text.length} characters)` : safe(text);
}

const longest = 500;

/** Text of a repository on its way to a terminal. */
function safe(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}]/gu, "\uFFFD");
}
