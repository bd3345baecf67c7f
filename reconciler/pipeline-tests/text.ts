import { writeExactly } from "../../engine/language.ts";
import { type Mismatch, named } from "./compare.ts";
import { counted, type Outcome, outcomeText } from "./outcome.ts";
import type { ChangeResult, TestResult } from "./result.ts";

/** A line of a report, and how a terminal shows it. */
export interface Line {
  text: string;
  tone?: "passed" | "failed" | "expected" | "found";
}

/** The most characters of a line, and lines about the events of a test. */
const [longest, mostEvents] = [1_000, 50];

/** What is said of each test, with the differences of those that failed, and the counts. */
export function linesOf(results: readonly TestResult[]): Line[] {
  const count = (status: TestResult["status"]) => results.filter((one) => one.status === status).length;
  const wrong = count("failed") + count("broken");
  const summary = `${counted(results.length, "test")}: ${count("passed")} passed, ${wrong} failed`;
  return [...results.flatMap(linesOfTest), { text: summary, tone: wrong === 0 ? "passed" : "failed" }];
}

function linesOfTest(result: TestResult): Line[] {
  const { test, milliseconds } = result;
  const title = `${placeOf(result)}: ${test.name} (${Math.round(milliseconds)} ms)`;
  if (result.status === "passed") return [{ text: `passed ${title}`, tone: "passed" }];
  return [{ text: `failed ${title}`, tone: "failed" }, ...detailsOf(result)];
}

/** Why a test did not pass: its differences, and what became of its events. */
export function detailsOf(result: Exclude<TestResult, { status: "passed" }>): Line[] {
  const { test } = result;
  if (result.status === "broken") return [...indented(result.failure, 2), ...eventLines(test.events, result.outcomes)];
  const { mismatches, found } = result;
  return [...mismatches.flatMap(linesOfMismatch), ...eventLines(test.events, found.outcomes)];
}

function linesOfMismatch(mismatch: Mismatch): Line[] {
  const { section, kind } = mismatch;
  if (kind === "count") return [{ text: `  ${section}: expected ${mismatch.expected}, found ${mismatch.found}` }];
  if (kind === "unexpected") return [{ text: `  ${section}: found, and not expected` }, foundLine(mismatch.found)];
  const entry = `  ${section}[${mismatch.at}]`;
  if (kind === "missing") return [{ text: `${entry}: expected, and not found` }, expectedLine(mismatch.expected)];
  const part = named(mismatch.expected, mismatch.found);
  return [{ text: `${entry}: expected (-) and found (+)` }, expectedLine(mismatch.expected), foundLine(part)];
}

function expectedLine(value: unknown): Line {
  return { text: clipped(`    - ${json(value)}`), tone: "expected" };
}

function foundLine(value: unknown): Line {
  return { text: clipped(`    + ${json(value)}`), tone: "found" };
}

function eventLines(events: TestResult["test"]["events"], outcomes: readonly Outcome[]): Line[] {
  if (outcomes.length === 0) return [];
  const lines = outcomes.slice(0, mostEvents).map((outcome, index): Line => {
    return { text: clipped(`    ${index + 1} ${eventText(events, index)}: ${outcomeText(outcome, json)}`) };
  });
  const rest = outcomes.length - mostEvents;
  const more = rest > 0 ? [{ text: `    and ${counted(rest, "more event")}` }] : [];
  return [{ text: "  events:" }, ...lines, ...more];
}

/** The events whose outcome changed, by their tests, and the counts. */
export function linesOfChanges(results: readonly ChangeResult[], base: string): Line[] {
  const changed = results.reduce((sum, one) => sum + (one.status === "compared" ? one.changes.length : 0), 0);
  const events = results.reduce((sum, { test }) => sum + test.events.length, 0);
  const summary = `${counted(events, "event")} of ${counted(results.length, "test")}: ${changed} with another outcome than at ${base}`;
  return [...results.flatMap((one) => linesOfChange(one, base)), { text: summary }];
}

function linesOfChange(result: ChangeResult, base: string): Line[] {
  const { test } = result;
  const title = `${placeOf(result)}: ${test.name}`;
  if (result.status === "new") return [{ text: `${title}: ${base} has no such pipeline` }];
  if (result.status === "broken") return [{ text: title, tone: "failed" }, ...indented(result.failure, 2)];
  if (result.changes.length === 0) return [];
  const lines = result.changes.flatMap(({ event, base: before, head }): Line[] => [
    { text: clipped(`  event ${event + 1} ${eventText(test.events, event)}`) },
    { text: clipped(`    - ${outcomeText(before, json)}`), tone: "expected" },
    { text: clipped(`    + ${outcomeText(head, json)}`), tone: "found" },
  ]);
  return [{ text: title }, ...lines];
}

/** Where a test is written. */
export function placeOf({ test }: Pick<TestResult, "test">): string {
  return `${test.file}:${test.line}`;
}

function eventText(events: TestResult["test"]["events"], index: number): string {
  const { event, text = "" } = events[index] ?? {};
  return event === undefined ? text : json(event);
}

/** A line that begins with colons is a command to some CI systems, however far it is indented. */
function indented(text: string, by: number): Line[] {
  return text.split("\n").map((line) => {
    const mark = line.trimStart().startsWith("::") ? "| " : "";
    return { text: clipped(" ".repeat(by) + mark + line) };
  });
}

function json(value: unknown): string {
  return writeExactly(value);
}

function clipped(text: string): string {
  return text.length <= longest ? text : `${text.slice(0, longest)}…`;
}
