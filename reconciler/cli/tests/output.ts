import { runAll } from "../../pipeline-tests/run-tests.ts";
import type { Line } from "../../pipeline-tests/text.ts";
import type { Invocation } from "../invocation/invocation.ts";
import { paintedLines } from "../invocation/terminal.ts";

/** Runs tests, several at once, and shows how far that is. */
export async function runShown<Case, Result>(
  { settings, progress, terminal }: Pick<Invocation, "settings" | "progress" | "terminal">,
  cases: readonly Case[],
  signal: AbortSignal,
  run: (one: Case) => Promise<Result>,
): Promise<Result[]> {
  const onDone = (done: number): void => progress.step(`${done} of ${cases.length} tests`);
  const results = await runAll(cases, { jobs: settings.number("test_jobs"), signal, onDone }, run);
  progress.end();
  if (results.length < cases.length) terminal.err(`Stopped after ${results.length} of ${cases.length} tests.`);
  return results;
}

const colours = {
  passed: "green",
  failed: "red",
  expected: "red",
  found: "green",
} as const;

/** Prints lines, in colours where a person sees them. */
export function printLines(lines: readonly Line[], { terminal, env }: Pick<Invocation, "terminal" | "env">): void {
  terminal.out(paintedLines(lines, colours, { terminal, env }));
}
